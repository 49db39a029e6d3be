import type { Command } from 'commander';
import type { Io } from './io.ts';
import type { AgentsOptions } from './agents.ts';
import type { AsksOptions } from './asks.ts';
import type { CommandingOptions } from './commanding.ts';
import type { CanOptions } from './can.ts';
import type { DemoOptions } from './demo.ts';
import type { DiagramsOptions } from './diagrams.ts';
import type { DoctorOptions } from './doctor.ts';
import type { EventsOptions } from './events.ts';
import type { ExtendOptions } from './extend.ts';
import type { InterruptOptions } from './interrupt.ts';
import type { ListOptions } from './list.ts';
import type { LogsOptions } from './logs.ts';
import type { ResultOptions } from './result.ts';
import type { ResumeOptions } from './resume.ts';
import type { RunOptions } from './run.ts';
import type { StatusOptions } from './status.ts';
import type { SteerOptions } from './steer.ts';
import type { StopOptions } from './stop.ts';
import type { WaitVerbOptions } from './wait.ts';
import type { WhyOptions } from './why.ts';

/** What the verbs are declared with. */
export interface Verbs {
  io: Io;
  /** What stood after `--`. */
  command: string[] | null;
  done: (code: number) => void;
}

/** Declares every verb. The code of a verb is loaded when it is called: most of them need little. */
export function addVerbs(program: Command, { io, command, done }: Verbs): void {
  configured(place(program.command('run')))
    .description('run a plan, one task of an agent, or a command')
    .argument('[what]', 'the plan file; with --agent the task, "-" reads it from standard input')
    .usage('[options] <plan> | --agent <name> <task> | -- <command> [args...]')
    .option('--agent <name>', 'give the task to this agent')
    .option('--model <name>', 'model of the agent')
    .option('--timeout <time>', 'time limit of the task or command, such as 30m')
    .option('--cwd <folder>', 'where the task or command works')
    .option('--detach', 'run in the background, print the id and return')
    .option('--id <id>', 'name the run yourself')
    .option('--plain', 'progress as plain lines')
    .option('--json', 'print the result as JSON and nothing else')
    .action(async (what: string | undefined, options: RunOptions) =>
      done(await (await import('./run.ts')).run({ what, command, ...options }, io)),
    );
  place(program.command('list'))
    .description('every run, oldest first')
    .option('--active', 'only those of which something may be running')
    .option('--json', 'as JSON')
    .action(async (options: ListOptions) => done(await (await import('./list.ts')).list(options, io)));
  place(onRun(program.command('status')))
    .description('what is true of a run now')
    .option('--json', 'status.json')
    .action(async (run: string, options: StatusOptions) =>
      done(await (await import('./status.ts')).status(run, options, io)),
    );
  place(onRun(program.command('wait')))
    .description('wait for the end of a run')
    .option('--timeout <time>', 'at most so long, such as 90s; exit code 5 then')
    .option('--json', 'status.json at the end')
    .action(async (run: string, options: WaitVerbOptions) =>
      done(await (await import('./wait.ts')).wait(run, options, io)),
    );
  place(onRun(program.command('logs')))
    .description('what the steps of a run say')
    .option('--step <id>', 'only this step')
    .option('-f, --follow', 'go on until the run ends')
    .option('--stderr', 'what was written to standard error')
    .option('--raw', 'what an agent wrote, byte for byte')
    .action(async (run: string, options: LogsOptions) =>
      done(await (await import('./logs.ts')).logs(run, options, io)),
    );
  place(onRun(program.command('events')))
    .description('the journal of a run')
    .option('-f, --follow', 'go on until the run ends')
    .option('--from <number>', 'from this record on')
    .option('--json', 'a record a line')
    .action(async (run: string, options: EventsOptions) =>
      done(await (await import('./events.ts')).events(run, options, io)),
    );
  place(onRun(program.command('result')))
    .description('what came of a run')
    .option('--step <id>', 'only the output of this step')
    .option('--json', 'result.json')
    .action(async (run: string, options: ResultOptions) =>
      done(await (await import('./result.ts')).result(run, options, io)),
    );
  place(onRun(program.command('stop')))
    .description('stop a run in good order and wait until everything is gone; or stop one step')
    .option('--step <id>', 'only this step; the run goes on')
    .option('--timeout <time>', 'wait at most so long for the end', '30s')
    .option('--no-wait', 'only until the stop has been applied')
    .option('--reason <text>', 'why, for people')
    .option('--json', 'the receipt')
    .action(async (run: string, options: StopOptions) =>
      done(await (await import('./stop.ts')).stop(run, options, io)),
    );
  place(onRun(program.command('can')))
    .description('the commands that a run would obey now')
    .option('--json', 'as JSON')
    .action(async (run: string, options: CanOptions) => done(await (await import('./can.ts')).can(run, options, io)));
  place(onRun(program.command('why')))
    .description('how a run came to where it is: its states, and the events between them')
    .option('--step <id>', 'only this step')
    .option('--json', 'as JSON')
    .action(async (run: string, options: WhyOptions) => done(await (await import('./why.ts')).why(run, options, io)));
  addSending(program, { io, command, done });
  addOthers(program, { io, command, done });
}

function addSending(program: Command, { io, done }: Verbs): void {
  sending(program.command('steer'))
    .description('give an agent that works a message')
    .argument('<text>', 'the message; "-" reads it from standard input')
    .option('--step <id>', 'only the agent of this step; default: every one that works')
    .option('--mode <when>', 'now: at the next tool boundary, next: after the answer, auto: as the agent finds right')
    .option('--expires <time>', 'do not deliver it later than this, such as 10m')
    .option('--wait <what>', 'until it is accepted, or delivered', 'accepted')
    .action(async (run: string, text: string, options: SteerOptions) =>
      done(await (await import('./steer.ts')).steer(run, text, options, io)),
    );
  sending(program.command('interrupt'))
    .description('pause a run, or one step, so that it can go on later')
    .option('--step <id>', 'only this step')
    .option('--reason <text>', 'why, for people')
    .action(async (run: string, options: InterruptOptions) =>
      done(await (await import('./interrupt.ts')).interrupt(run, options, io)),
    );
  sending(program.command('resume'))
    .description('let the paused steps of a run that goes on go on')
    .option('--step <id>', 'only this step')
    .action(async (run: string, options: ResumeOptions) =>
      done(await (await import('./resume.ts')).resume(run, options, io)),
    );
  sending(program.command('append'))
    .description('add steps to a run that goes on')
    .argument('<file>', 'YAML or JSON with the steps, as in a plan; "-" reads it from standard input')
    .action(async (run: string, file: string, options: CommandingOptions) =>
      done(await (await import('./append.ts')).append(run, file, options, io)),
    );
  sending(program.command('extend'))
    .description('move the deadline of a run, or the limit of a step that runs')
    .argument('<deadline>', 'a length of time from now such as 30m, an instant such as 2026-12-01T10:00:00Z, or now')
    .option('--step <id>', 'the limit of this step')
    .action(async (run: string, deadline: string, options: ExtendOptions) =>
      done(await (await import('./extend.ts')).extend(run, deadline, options, io)),
    );
  place(onRun(program.command('asks')))
    .description('what the agents of a run have asked and wait for')
    .option('--all', 'those that have been answered, too')
    .option('--json', 'as JSON')
    .action(async (run: string, options: AsksOptions) =>
      done(await (await import('./asks.ts')).asks(run, options, io)),
    );
  sending(program.command('answer'))
    .description('answer what an agent has asked')
    .argument('<ask>', 'id of the ask, as asks shows it')
    .argument('<text>', 'the answer; "-" reads it from standard input')
    .action(async (run: string, ask: string, text: string, options: CommandingOptions) =>
      done(await (await import('./answer.ts')).answer(run, ask, text, options, io)),
    );
}

function addOthers(program: Command, { io, done }: Verbs): void {
  configured(program.command('agents'))
    .description('the agents that plans can name here')
    .option('--versions', 'ask each program for its version')
    .option('--json', 'as JSON')
    .action(async (options: AgentsOptions) => done(await (await import('./agents.ts')).agents(options, io)));
  program
    .command('diagrams')
    .description('the statecharts that coxswain runs on')
    .option('--out <folder>', 'copy them there')
    .option('--list', 'list their paths (the default)')
    .option('--json', 'as JSON')
    .action(async (options: DiagramsOptions) => done(await (await import('./diagrams.ts')).diagrams(options, io)));
  place(program.command('doctor'))
    .description('whether everything here is as it should be; or what a run has left')
    .option('--run <run>', 'look again for everything that this run has started')
    .option('--end', 'with --run: end whoever is still there')
    .option('--json', 'as JSON')
    .action(async (options: DoctorOptions) => done(await (await import('./doctor.ts')).doctor(options, io)));
  place(program.command('demo'))
    .description('three steps with a bundled agent: no key, no network')
    .option('--plain', 'progress as plain lines')
    .action(async (options: DemoOptions) => done(await (await import('./demo.ts')).demo(options, io)));
}

/** A verb that sends a command to a run and waits for its receipt. */
function sending(verb: Command): Command {
  return place(onRun(verb))
    .option('--timeout <time>', 'wait at most so long for the verdict, such as 30s')
    .option('--json', 'the receipt');
}

/** A verb that knows agents. */
function configured(verb: Command): Command {
  return verb
    .option('--config <file>', 'agents of your own (default: coxswain.config.json, .yaml or .mjs, here or above)')
    .option('--no-config', 'only the agents of the plan and the built-in ones');
}

function onRun(verb: Command): Command {
  return verb.argument('<run>', 'id of the run, or the beginning of it');
}

function place(verb: Command): Command {
  return verb.option('--root <folder>', 'state root (default: COXSWAIN_HOME, else ~/.local/state/coxswain)');
}
