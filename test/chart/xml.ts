/** A small reader for the XML we write: enough to see that it is well-formed, and to look into it. */

export interface Element {
  name: string;
  attributes: Record<string, string>;
  children: Element[];
  text: string;
}

const TAG = /<(?:!--[^]*?--|\?[^]*?\?|(\/?)([\w:.-]+)((?:\s+[\w:.-]+="[^"<]*")*)\s*(\/?))>|([^<]+)/y;
const LOOSE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|#\d+);)/;

/** Throws at the first place that is not well-formed. */
export function parseXml(source: string): Element {
  const top: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [top];
  TAG.lastIndex = 0;
  if (LOOSE_AMPERSAND.test(source)) throw new Error('a loose &');
  while (TAG.lastIndex < source.length) {
    const at = TAG.lastIndex;
    const found = TAG.exec(source);
    if (found === null) throw new Error(`not well-formed at ${source.slice(at, at + 60)}`);
    const [, closes, name, attributes = '', empty, text] = found;
    const current = open.at(-1) ?? top;
    if (text !== undefined) current.text += text;
    if (name === undefined) continue;
    if (closes === '/') {
      if (open.pop()?.name !== name || open.length === 0) throw new Error(`</${name}> closes nothing`);
      continue;
    }
    const element: Element = { name, attributes: readAttributes(attributes), children: [], text: '' };
    current.children.push(element);
    if (empty !== '/') open.push(element);
  }
  const [root] = top.children;
  if (root === undefined || top.children.length > 1 || open.length > 1) throw new Error('not one whole element');
  return root;
}

function readAttributes(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([\w:.-]+)="([^"]*)"/g)].map((match) => [match[1] ?? '', match[2] ?? ''] as const);
  if (new Set(pairs.map(([name]) => name)).size !== pairs.length) throw new Error(`an attribute twice: ${text}`);
  return Object.fromEntries(pairs);
}

/** The element and everything below it. */
export function walk(element: Element): Element[] {
  return [element, ...element.children.flatMap(walk)];
}

/** Its text and that of everything below it, entities resolved. */
export function textOf(element: Element): string {
  const own = element.text + element.children.map(textOf).join('');
  return own.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}
