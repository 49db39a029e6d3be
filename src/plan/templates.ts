import type { Context, Liquid, Output, Template } from 'liquidjs';
import { liquidjs } from './heavy.ts';
import { readReference, type Reference } from './reference.ts';

/** Most characters of a rendered text. */
const MAX_RENDERED = 16 * 1024 * 1024;
/** Milliseconds one rendering may take, looked at between two expressions. */
const RENDER_LIMIT_MS = 2_000;
/** What filters may make on the way, in characters and list items together. */
const MEMORY_LIMIT = 4 * MAX_RENDERED;

/** What templates can see. `outputs` is there for groups and fan-outs only. Own properties of plain data only. */
export interface Scope {
  steps: Record<string, { output?: unknown; outputs?: unknown }>;
}

/** `message` names the expression's place in the template, never a value and never the text around it. */
export type Rendered = { type: 'ok'; text: string } | { type: 'failed'; message: string };

export type Compiled =
  | {
      type: 'ok';
      /** What it reads from steps, each once, in order. Empty: the text stays as it is, or has only `raw` parts. */
      references: Reference[];
      render(scope: Scope): Rendered;
    }
  | { type: 'invalid'; message: string };

/**
 * Compiles a template: `{{ steps.<id>.output }}` with filters, and `{% raw %}`. Nothing else runs: no other tags, no
 * files, no filter that evaluates text or draws lots. Rendering is synchronous, bounded, and fails on names that are
 * not there and on lists and objects that no filter has made a text of. Values are inserted as they are and never
 * parsed. A single filter's time is bounded only by the size of what it works on.
 */
export function compileTemplate(text: string): Compiled {
  if (!text.includes('{{') && !text.includes('{%')) {
    return { type: 'ok', references: [], render: () => ({ type: 'ok', text }) };
  }
  let templates: Template[];
  try {
    templates = engine().parse(text);
  } catch (error) {
    return { type: 'invalid', message: explain(error) };
  }
  const references = new Map<string, Reference>();
  const pieces: Piece[] = [];
  for (const template of templates) {
    const read = readPiece(template);
    if (read.type === 'bad') return { type: 'invalid', message: read.message };
    pieces.push(read.piece);
    for (const reference of read.references) references.set(reference.text, reference);
  }
  return { type: 'ok', references: [...references.values()], render: (scope) => render(pieces, scope) };
}

/** Text that is the same each time, or an expression and the names it reads. */
type Piece = string | { output: Output; reads: string };

type ReadPiece = { type: 'ok'; piece: Piece; references: Reference[] } | { type: 'bad'; message: string };

function readPiece(template: Template): ReadPiece {
  if (!isOutput(template)) return { type: 'ok', piece: String(engine().renderSync([template])), references: [] };
  const fault = faultOf(template);
  if (fault !== null) {
    const [line, column] = template.token.getPosition();
    return { type: 'bad', message: `line ${line}, column ${column}: ${fault}` };
  }
  const references: Reference[] = [];
  const names: string[] = [];
  for (const { segments } of Object.values(engine().analyzeSync([template], { partials: false }).variables).flat()) {
    const read = readReference(segments);
    if (read.type === 'bad') return read;
    references.push(read.reference);
    names.push(
      [read.reference.text, ...segments.slice(3).map((part) => (typeof part === 'object' ? '…' : part))].join('.'),
    );
  }
  return { type: 'ok', piece: { output: template, reads: names.join(', ').slice(0, 200) }, references };
}

/** These read their first argument as an expression. */
const EXPRESSION_FILTERS = new Set(['where', 'reject', 'find', 'find_index', 'has', 'group_by']);

/** What liquidjs lets pass and we do not. */
function faultOf({ value }: Output): string | null {
  // It takes the first of several values and drops the rest.
  if (value.initial.postfix.length !== 1) return 'an expression is one value and then filters, | name';
  for (const { name, args } of value.filters) {
    if (EXPRESSION_FILTERS.has(name) && !liquidjs().TypeGuards.isQuotedToken(args[0])) {
      return `the filter ${name} needs the name of a field in quotes`;
    }
  }
  return null;
}

function render(pieces: readonly Piece[], scope: Scope): Rendered {
  const context = new (liquidjs().Context)(scope, engine().options, { sync: true });
  const deadline = performance.now() + RENDER_LIMIT_MS;
  const parts: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    const part =
      typeof piece === 'string' ? ({ type: 'ok', text: piece } as const) : evaluate(piece.output, piece.reads, context);
    if (part.type === 'failed') return part;
    length += part.text.length;
    if (length > MAX_RENDERED) return failed(`the text grew beyond ${MAX_RENDERED} characters: pass a file instead`);
    if (performance.now() > deadline) return failed(`it took longer than ${RENDER_LIMIT_MS} ms`);
    parts.push(part.text);
  }
  return { type: 'ok', text: parts.join('') };
}

function evaluate(output: Output, reads: string, context: Context): Rendered {
  const [line, column] = output.token.getPosition();
  const where = `the expression at line ${line}, column ${column} of the template`;
  let value: unknown;
  try {
    value = liquidjs().toValueSync(output.value.value(context, false));
  } catch (error) {
    if (error instanceof liquidjs().UndefinedVariableError)
      return failed(`${where} reads something that is not there: ${reads}`);
    const filters = output.value.filters.map(({ name }) => name).join(', ');
    return failed(`${where} could not be evaluated${filters === '' ? '' : ` (filters: ${filters})`}`);
  }
  if (typeof value === 'string') return { type: 'ok', text: value };
  if (typeof value === 'number' || typeof value === 'boolean') return { type: 'ok', text: String(value) };
  if (value === null) return { type: 'ok', text: '' };
  if (Array.isArray(value)) return failed(`${where} is a list: add a filter, | json or | join: ", "`);
  if (typeof value === 'object')
    return failed(`${where} is an object: add the filter | json, or name one of its fields`);
  return failed(`${where} gives nothing`);
}

function failed(message: string): Rendered {
  return { type: 'failed', message };
}

// prettier-ignore
const ALLOWED_FILTERS = [
  'abs', 'append', 'at_least', 'at_most', 'base64_decode', 'base64_encode', 'capitalize', 'ceil', 'compact', 'concat',
  'default', 'divided_by', 'downcase', 'escape', 'find', 'find_index', 'first', 'floor', 'group_by', 'has', 'join', 'json',
  'last', 'lstrip', 'map', 'minus', 'modulo', 'normalize_whitespace', 'number_of_words', 'plus', 'prepend', 'reject',
  'remove', 'remove_first', 'remove_last', 'replace', 'replace_first', 'replace_last', 'reverse', 'round', 'rstrip',
  'size', 'slice', 'slugify', 'sort', 'sort_natural', 'split', 'squish', 'strip', 'strip_newlines', 'sum', 'times',
  'to_integer', 'truncate', 'truncatewords', 'uniq', 'upcase', 'url_decode', 'url_encode', 'where',
] as const;

let made: Liquid | undefined;

/** One for all: it keeps nothing between two renderings. */
function engine(): Liquid {
  made ??= createEngine();
  return made;
}

const isOutput = (template: Template): template is Output => template instanceof liquidjs().Output;

function createEngine(): Liquid {
  const { Liquid, RawTag } = liquidjs();
  const liquid = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    // Lets `default` answer for what is not there.
    lenientIf: true,
    // Nothing is ever loaded; should a way be found, there is nothing to load.
    templates: {},
    dynamicPartials: false,
    memoryLimit: MEMORY_LIMIT,
  });
  for (const name of Object.keys(liquid.tags)) delete liquid.tags[name];
  liquid.registerTag('raw', RawTag);
  const filters = ALLOWED_FILTERS.map((name) => [name, liquid.filters[name]] as const);
  for (const name of Object.keys(liquid.filters)) delete liquid.filters[name];
  for (const [name, filter] of filters) if (filter !== undefined) liquid.registerFilter(name, filter);
  // Without a prototype `constructor` is no filter and no tag.
  Object.setPrototypeOf(liquid.tags, null);
  Object.setPrototypeOf(liquid.filters, null);
  return liquid;
}

function explain(error: unknown): string {
  const message = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : 'bad template';
  const short = message.length > 200 ? `${message.slice(0, 200)}…` : message;
  return `${short}. Templates are {{ expressions }} with filters and {% raw %}; "template: false" takes the text as it is.`;
}
