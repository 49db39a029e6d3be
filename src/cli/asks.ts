import { type Ask, asks as readAsks } from '../client.ts';
import { EXIT } from './codes.ts';
import { type PlaceOptions, failNotFound, failUnreadable } from './finding.ts';
import { type Io, printJson } from './io.ts';
import { cut, oneLine, span, table } from './words.ts';

export interface AsksOptions extends PlaceOptions {
  all?: boolean;
  json?: boolean;
}

const QUESTION_CHARS = 200;

export async function asks(run: string, options: AsksOptions, io: Io): Promise<number> {
  const reading = readAsks(run, { root: options.root, env: io.env });
  switch (reading.type) {
    case 'ok': {
      const wanted = options.all === true ? reading.asks : reading.asks.filter(({ state }) => state === 'asked');
      await print(wanted, options, io);
      return EXIT.ok;
    }
    case 'unwritten':
      await print([], options, io);
      return EXIT.ok;
    case 'corrupt':
    case 'newer':
      return failUnreadable(io, reading);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, reading);
  }
}

async function print(wanted: readonly Ask[], { json }: AsksOptions, io: Io): Promise<void> {
  if (json === true) await printJson(io, wanted);
  else for (const line of table(wanted.map(rowOf))) io.out.line(line);
}

function rowOf({ id, step, state, at, endedAt, question, text, path }: Ask): string[] {
  const words = question === null ? `(${text.chars} characters)` : cut(oneLine(question), QUESTION_CHARS);
  return [
    oneLine(id),
    oneLine(step),
    state,
    span(at, endedAt),
    words,
    ...(path.length > 1 ? [oneLine(path.join(' > '))] : []),
  ];
}
