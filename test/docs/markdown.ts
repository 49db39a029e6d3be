import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced block of code. */
export interface Block {
  /** `docs/plan.md:12`: where its text begins. */
  place: string;
  lang: string;
  /** Words after the language: `run`, `bad`. */
  marks: string[];
  text: string;
}

/** A page as its checks see it. */
export interface Page {
  /** Relative to the repository. */
  file: string;
  text: string;
  blocks: Block[];
  /** The text without its blocks. */
  prose: string;
}

/** Everything a reader is sent to. */
export function pages(): Page[] {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs.map((name) => `docs/${name}`)].map(page);
}

export function page(file: string): Page {
  return pageOf(file, readFileSync(join(ROOT, file), 'utf8'));
}

export function pageOf(file: string, text: string): Page {
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { block: Block; lines: string[] } | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\S*) *(.*)$/.exec(line);
    if (open !== null && line === '```') {
      blocks.push({ ...open.block, text: open.lines.map((one) => `${one}\n`).join('') });
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (fence === null) prose.push(line);
    else {
      const [, lang = '', marks = ''] = fence;
      const place = `${file}:${index + 2}`;
      open = { block: { place, lang, marks: marks.split(' ').filter((mark) => mark !== ''), text: '' }, lines: [] };
    }
  }
  if (open !== null) throw new Error(`${open.block.place}: the block is not closed`);
  return { file, text, blocks, prose: prose.join('\n') };
}

/** The block after another one of its page: what it prints. */
export function outputOf({ blocks }: Page, block: Block): string {
  const next = blocks[blocks.indexOf(block) + 1];
  if (next?.lang !== 'text') throw new Error(`${block.place}: a block of text with its output has to follow`);
  return next.text;
}

/** Everything between single backticks, and all blocks. */
export function codeIn({ prose, blocks }: Page): string[] {
  return [...spansIn(prose), ...blocks.map(({ text }) => text)];
}

export function spansIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll('\n', ' '));
}

/** The part of a page from a heading to the next one of any level. */
export function section({ prose, file }: Page, heading: string): string {
  const lines = prose.split('\n');
  const from = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (from < 0) throw new Error(`${file} has no heading "${heading}"`);
  const length = lines.slice(from + 1).findIndex((line) => /^#+ /.test(line));
  return lines.slice(from + 1, length < 0 ? undefined : from + 1 + length).join('\n');
}

/** Rows of the tables in a text, without their heads: cells, trimmed. With `head`, of the table whose first cell says so. */
export function rowsIn(text: string, head?: string): string[][] {
  const rows: string[][] = [];
  let wanted = false;
  for (const [index, line] of text.split('\n').entries()) {
    if (!line.startsWith('|')) continue;
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const next = text.split('\n')[index + 1] ?? '';
    if (/^\|[\s:|-]+\|$/.test(next)) wanted = head === undefined || cells[0] === head;
    else if (wanted && !/^\|[\s:|-]+\|$/.test(line)) rows.push(cells);
  }
  return rows;
}

/** What is in backticks in the first cells of a table. */
export function namesIn(text: string, head?: string): string[] {
  return rowsIn(text, head)
    .flatMap(([first = '']) => spansIn(first))
    .toSorted();
}

/** Targets of the links of a page that are in the repository: file and anchor. */
export function linksIn({ prose }: Page): { target: string; file: string; anchor: string | null }[] {
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor = null] = target.split('#');
      return { target, file, anchor };
    });
}

/** Names of the headings of a page as links have them. */
export function anchorsIn({ prose }: Page): string[] {
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}
