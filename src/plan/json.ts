/**
 * Offset of the first character that a text has and JSON would not have there; the length, when the text ends too early.
 * Only for a text that `JSON.parse` refused: its own messages name the place differently in each version of Node.
 */
export function jsonErrorAt(text: string): number {
  const open: string[] = [];
  let expect: Expect = 'value';
  for (let at = skipBlank(text, 0); ; at = skipBlank(text, at)) {
    const token = readToken(text, at);
    if (token === null) return at;
    const next = advance(expect, token.kind, open);
    if (next === null) return at;
    if (token.broken !== null) return token.broken;
    expect = next;
    at += token.length;
  }
}

type Expect = 'value' | 'value or ]' | 'key or }' | 'key' | ':' | ', or end' | 'nothing';
type Kind = '{' | '}' | '[' | ']' | ',' | ':' | 'text' | 'other';

/** What may come after this token, or null when it may not come here. `open` are the brackets around. */
function advance(expect: Expect, kind: Kind, open: string[]): Expect | null {
  const after = (): Expect => (open.length === 0 ? 'nothing' : ', or end');
  if (kind === '}' || kind === ']') {
    const matches = open.at(-1) === (kind === '}' ? '{' : '[');
    if (!matches || !(expect === ', or end' || expect === (kind === '}' ? 'key or }' : 'value or ]'))) return null;
    open.pop();
    return after();
  }
  if (kind === ',') return expect === ', or end' ? (open.at(-1) === '{' ? 'key' : 'value') : null;
  if (kind === ':') return expect === ':' ? 'value' : null;
  if (expect === 'key' || expect === 'key or }') return kind === 'text' ? ':' : null;
  if (expect !== 'value' && expect !== 'value or ]') return null;
  if (kind === 'text' || kind === 'other') return after();
  open.push(kind);
  return kind === '{' ? 'key or }' : 'value or ]';
}

/** `broken`: where inside the token it goes wrong. */
interface Token {
  kind: Kind;
  length: number;
  broken: number | null;
}

const OTHER = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function readToken(text: string, at: number): Token | null {
  const first = text[at];
  switch (first) {
    case undefined:
      return null;
    case '{':
    case '}':
    case '[':
    case ']':
    case ',':
    case ':':
      return { kind: first, length: 1, broken: null };
    case '"':
      return readText(text, at);
    default:
      OTHER.lastIndex = at;
      return OTHER.test(text) ? { kind: 'other', length: OTHER.lastIndex - at, broken: null } : null;
  }
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function readText(text: string, start: number): Token {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { kind: 'text', length: at + 1 - start, broken: null };
    ESCAPE.lastIndex = at;
    if (code < 0x20 || (code === 0x5c && !ESCAPE.test(text))) return { kind: 'text', length: 0, broken: at };
    if (code === 0x5c) at = ESCAPE.lastIndex - 1;
  }
  return { kind: 'text', length: 0, broken: text.length };
}

function skipBlank(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at++;
  return at;
}
