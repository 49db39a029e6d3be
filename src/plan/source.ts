import type { Alias, CST, Document, LineCounter, Pair, YAMLMap } from 'yaml';
import { yaml } from './heavy.ts';
import { checkSize } from './size.ts';
import { duplicateKeys } from './duplicates.ts';
import { jsonErrorAt } from './json.ts';
import type { Path, PlanErrorCode } from './words.ts';

export type Format = 'yaml' | 'json';

export interface Place {
  line: number;
  column: number;
}

/** A mistake in the text itself: there is no plan to speak of. */
export interface SourceError {
  place: Place | null;
  code: PlanErrorCode;
  message: string;
}

export type Source =
  | { type: 'ok'; value: unknown; place(path: Path, at?: 'key'): Place | null }
  | { type: 'invalid'; errors: SourceError[] };

/**
 * Reads YAML (1.2, core schema: `yes` is a text) or JSON into plain values, and remembers where each came from.
 * Refused: two documents, duplicate keys, keys that are no text, unknown tags, more than 64 levels or 500,000 values, and
 * aliases that multiply. Merge keys (`<<`) have no meaning.
 */
export function readSource(text: string, format: Format): Source {
  const { LineCounter, Parser } = yaml();
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const excess = checkSize(tokens);
  if (excess !== null) {
    return invalid({ place: placeOf(lines, excess.offset), code: 'syntax', message: excess.message });
  }
  const documents = compose(tokens, lines, text.length);
  const document = documents[0];
  return format === 'json' ? readJson(text, document, lines) : readYaml(documents, lines);
}

function compose(tokens: CST.Token[], lines: LineCounter, length: number): Document.Parsed[] {
  const options = {
    version: '1.2',
    schema: 'core',
    lineCounter: lines,
    merge: false,
    stringKeys: true,
    resolveKnownTags: false,
    // The library compares each key with each other one; duplicates.ts does it in one pass.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  } as const;
  const { Composer } = yaml();
  return [...new Composer(options).compose(tokens, true, length)];
}

function readYaml(documents: Document.Parsed[], lines: LineCounter): Source {
  const [document, second] = documents;
  if (document === undefined) return invalid({ place: null, code: 'empty-plan', message: 'the plan is empty' });
  if (second !== undefined) {
    const place = placeOf(lines, second.range[0]);
    return invalid({ place, code: 'syntax', message: 'a plan file holds one document, and here a second one starts' });
  }
  const errors = [...document.errors, ...document.warnings].map((error): SourceError => {
    return { place: placeOf(lines, error.pos[0]), code: 'syntax', message: sentence(error.message) };
  });
  if (document.directives.yaml.explicit === true && document.directives.yaml.version !== '1.2') {
    errors.push({
      place: { line: 1, column: 1 },
      code: 'syntax',
      message: 'plans are YAML 1.2: remove the %YAML line',
    });
  }
  const all = [...firstOfEachLine(errors), ...duplicates(document, lines)];
  if (all.length > 0) return invalid(...all);
  try {
    return found(document.toJS({ maxAliasCount: 100 }), document, lines);
  } catch (error) {
    // Only for people: an alias without an anchor, or aliases that multiply.
    return invalid({
      place: aliasPlace(document, lines),
      code: 'syntax',
      message: sentence(error instanceof Error ? error.message : 'bad alias'),
    });
  }
}

/** The first alias that stands for nothing, else the first one. */
function aliasPlace(document: Document.Parsed, lines: LineCounter): Place | null {
  const aliases: Alias[] = [];
  yaml().visit(document, {
    Alias: (_, alias) => {
      aliases.push(alias);
    },
  });
  const alias = aliases.find((candidate) => candidate.resolve(document) === undefined) ?? aliases[0];
  return alias?.range === undefined || alias.range === null ? null : placeOf(lines, alias.range[0]);
}

/** What the first mistake in a line brings with it says nothing new. */
function firstOfEachLine(errors: SourceError[]): SourceError[] {
  return [...new Map(errors.toReversed().map((error) => [error.place?.line, error])).values()].toReversed();
}

function readJson(text: string, document: Document.Parsed | undefined, lines: LineCounter): Source {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const offset = jsonErrorAt(text);
    const what = offset >= text.length ? 'the text ends too early' : `${JSON.stringify(text[offset])} cannot be here`;
    return invalid({ place: placeOf(lines, offset), code: 'syntax', message: `is not JSON: ${what}` });
  }
  // JSON is YAML, near enough to find where things are.
  const errors = document === undefined ? [] : duplicates(document, lines);
  return errors.length > 0 ? invalid(...errors) : found(value, document, lines);
}

function duplicates(document: Document.Parsed, lines: LineCounter): SourceError[] {
  return duplicateKeys(document.contents).map(({ key, offset, first }) => {
    const place = placeOf(lines, offset);
    const message = `the key "${key}" is there twice; the first is in line ${placeOf(lines, first).line}`;
    return { place, code: 'duplicate-key', message };
  });
}

function found(value: unknown, document: Document.Parsed | undefined, lines: LineCounter): Source {
  const seen: Seen = new Map();
  const place = (path: Path, at?: 'key'): Place | null => {
    const offset = document === undefined ? null : offsetOf(document, path, at, seen);
    return offset === null ? null : placeOf(lines, offset);
  };
  return { type: 'ok', value, place };
}

/** Where a value starts, or its key. Where the path leads nowhere: the last place on the way that is there. */
function offsetOf(document: Document.Parsed, path: Path, at: 'key' | undefined, seen: Seen): number | null {
  const { isAlias, isMap, isSeq } = yaml();
  let node: unknown = document.contents;
  let offset: number | null = startOf(node);
  for (const [index, part] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node) && typeof part === 'number') node = node.items[part];
    else if (isMap(node)) {
      const pair = pairsOf(node, seen).get(String(part));
      if (pair === undefined) return offset;
      if (at === 'key' && index === path.length - 1) return startOf(pair.key);
      offset = startOf(pair.key);
      node = pair.value;
    } else return offset;
    offset = startOf(node) ?? offset;
  }
  return offset;
}

/** Mappings by name, made when one is first looked into: a plan with many mistakes asks for many places. */
type Seen = Map<YAMLMap, Map<string, Pair>>;

function pairsOf(map: YAMLMap, seen: Seen): Map<string, Pair> {
  const known = seen.get(map);
  if (known !== undefined) return known;
  const { isScalar } = yaml();
  const pairs = new Map(map.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : '', pair]));
  seen.set(map, pairs);
  return pairs;
}

function startOf(node: unknown): number | null {
  const { isAlias, isMap, isScalar, isSeq } = yaml();
  if (!isMap(node) && !isSeq(node) && !isScalar(node) && !isAlias(node)) return null;
  return node.range?.[0] ?? null;
}

function placeOf(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function invalid(...errors: SourceError[]): Source {
  return { type: 'invalid', errors };
}

function sentence(message: string): string {
  return message.split('\n', 1)[0]?.slice(0, 300) ?? '';
}
