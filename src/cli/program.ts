import { Command, CommanderError } from 'commander';
import { EXIT } from './codes.ts';
import type { Io } from './io.ts';
import { packageVersion } from './version.ts';
import { addVerbs } from './verbs.ts';

/** Reads the command line, does what it says, and gives back the exit code. */
export async function parse(argv: readonly string[], io: Io): Promise<number> {
  const { words, command } = splitCommand(argv);
  let code: number = EXIT.ok;
  const program = new Command('coxswain')
    .description(
      'Runs coding agents and commands in the background: watch and stop them, and know that nothing is left running.',
    )
    .version(packageVersion())
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void io.err.write(text),
      outputError: (text, write) => write(`coxswain: ${oneMessage(text)}\n`),
    })
    .addHelpText('after', EXAMPLES);
  addVerbs(program, { io, command, done: (result) => (code = result) });
  try {
    await program.parseAsync(words, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version that were asked for are no errors; a call without a verb is one.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
}

/** What follows `--` belongs to the command that `run` is to start, options and all. */
function splitCommand(argv: readonly string[]): { words: string[]; command: string[] | null } {
  const cutAt = argv[0] === 'run' ? argv.indexOf('--') : -1;
  return cutAt < 0
    ? { words: [...argv], command: null }
    : { words: argv.slice(0, cutAt), command: argv.slice(cutAt + 1) };
}

function oneMessage(text: string): string {
  return text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ');
}

const EXAMPLES = `
Examples:
  coxswain demo                                       see it work: no key, no network
  coxswain run plan.yaml                              run a plan and watch it
  coxswain run --agent pi "fix the failing test"      give one task to an agent
  coxswain run --detach -- npm test                   run a command in the background
  coxswain status 01KB                                a run is named by its id or the beginning of it

Exit codes:
  run, wait   0 completed, 1 failed, 3 stopped, 4 paused, 5 wait timed out, 128+n ended by signal n
  stop, interrupt, resume, steer, append, extend, answer
              0 applied, delivered or accepted, 8 refused, undelivered or no verdict in time
  all         2 usage or plan error, 6 corrupt, newer version or runner lost, 7 no such run,
              9 done but the record or the proof is incomplete`;
