/**
 * Writes the tables of docs/agents.md: what was asked of every adapter, from the data files in test/conformance, and what
 * each can honour of a definition.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Subject, conformanceTable, readSubject } from '../src/testing/index.ts';
import { honoursTable } from './honours.ts';

const FOLDER = 'test/conformance';
const PAGE = 'docs/agents.md';

/** A column for each data file. */
export function subjects(root = '.'): Subject[] {
  const files = readdirSync(join(root, FOLDER)).filter((name) => name.endsWith('.json'));
  return files.toSorted().map((name) => readSubject(join(root, FOLDER, name)));
}

/** The page with its tables as they have to be. */
export function pageWithTable(page: string, all: readonly Subject[]): string {
  return withTable(withTable(page, 'conformance', conformanceTable(all)), 'honours', honoursTable());
}

function withTable(page: string, name: string, table: string): string {
  const begin = `<!-- ${name}: made by \`npm run conformance\` -->\n\n`;
  const from = page.indexOf(begin);
  const to = page.indexOf(`\n<!-- /${name} -->`, from);
  if (from < 0 || to < from) throw new Error(`${PAGE} has no place for the table "${name}"`);
  return page.slice(0, from + begin.length) + table + page.slice(to);
}

if (process.argv[1]?.endsWith('conformance.js') === true) {
  writeFileSync(PAGE, pageWithTable(readFileSync(PAGE, 'utf8'), subjects()));
}
