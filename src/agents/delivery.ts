import { join } from 'node:path';
import type { Launch, LaunchRequest } from './adapter.ts';

/** Stands for the path of the task's file in a definition's `command` and `args`. */
const FILE = '{file}';
/** Stands for the task in the record of a launch. */
const TASK = '{task}';

/**
 * The parts of a launch that bring the task to a program: on stdin, as the last argument, or as a file.
 *
 * As an argument the task is handed over as it is: one that begins with `-` may be taken for an option (let the
 * definition's `args` end with `--` where the program knows that), and others on the machine can read it.
 */
export function handOver(
  task: string,
  argv: string[],
  { settings, delivery = 'auto', privateDir }: Pick<LaunchRequest, 'settings' | 'delivery' | 'privateDir'>,
): Pick<Launch, 'argv' | 'redactedArgv' | 'stdin' | 'files'> {
  const place = settings.task ?? 'stdin';
  switch (place === 'argv' && delivery === 'file' ? 'file' : place) {
    case 'stdin':
      return { argv, stdin: { type: 'text', text: task } };
    case 'argv':
      return { argv: [...argv, task], redactedArgv: [...argv, TASK], stdin: { type: 'none' } };
    case 'file': {
      const path = join(privateDir, 'task.md');
      return { argv: withPath(argv, path), stdin: { type: 'none' }, files: [{ path, text: task }] };
    }
  }
}

function withPath(argv: readonly string[], path: string): string[] {
  return argv.some((argument) => argument.includes(FILE))
    ? argv.map((argument) => argument.replaceAll(FILE, () => path))
    : [...argv, path];
}
