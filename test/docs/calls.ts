import { type Page, spansIn } from './markdown.ts';

/** A call of the command line as a page shows it. */
export interface Call {
  place: string;
  /** Null: `coxswain --help`. */
  verb: string | null;
  flags: string[];
}

/** Calls in blocks of shell and between backticks. A verb in angle brackets stands for any. */
export function callsIn({ file, prose, blocks }: Page): Call[] {
  const lines = blocks
    .filter(({ lang }) => lang === 'sh')
    .flatMap(({ place, text }) => text.split('\n').map((line) => ({ place, line })));
  const spans = spansIn(prose).map((line) => ({ place: file, line }));
  return [...lines, ...spans]
    .flatMap(({ place, line }) => callsOf(line).map((call) => ({ place: `${place} "${line.trim()}"`, ...call })))
    .filter(({ verb }) => verb === null || !verb.startsWith('<'));
}

/** Quoted texts, separators, comments, words. */
const TOKEN = /"[^"]*"|'[^']*'|[|;&()`]+|(?:^|(?<=\s))#.*$|[^\s|;&()`"']+/g;

/** @internal */
export function callsOf(line: string): Omit<Call, 'place'>[] {
  const calls: Omit<Call, 'place'>[] = [];
  let words: string[] | null = null;
  for (const [token] of line.matchAll(TOKEN)) {
    if (token.startsWith('#') || /^[|;&()`]/.test(token)) words = null;
    else if (words !== null) words.push(token);
    else if (token === 'coxswain') {
      words = [];
      calls.push({ verb: null, flags: words });
    }
  }
  return calls.map(({ flags: all }) => callOf(all)).filter((call) => call.verb !== null || call.flags.length > 0);
}

function callOf(words: readonly string[]): Omit<Call, 'place'> {
  const end = words.indexOf('--');
  const ours = end < 0 ? words : words.slice(0, end);
  const [first = null] = ours;
  const verb = first === null || first.startsWith('-') ? null : first;
  const flags = ours.filter((word) => /^--?[A-Za-z]/.test(word)).map((word) => word.replace(/=.*/, ''));
  return { verb, flags };
}

/** Options that a help text lists, long and short. */
export function optionsIn(help: string): string[] {
  return [...help.matchAll(/^ +(?:(-\w), )?(--[\w-]+)/gm)].flatMap(([, short, long]) =>
    [short, long].filter((name) => name !== undefined),
  );
}

/** Verbs that the help of the program lists. */
export function verbsIn(help: string): string[] {
  const from = help.indexOf('\nCommands:\n');
  const list = help.slice(from + '\nCommands:\n'.length).split('\n\n')[0] ?? '';
  return [...list.matchAll(/^ {2}(\w[\w-]*)/gm)].map(([, verb = '']) => verb);
}
