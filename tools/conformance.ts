/** Writes the table of docs/agents.md that says what was asked of every adapter, from the data files in test/conformance. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Subject, conformanceTable, readSubject } from '../src/testing/index.ts';

const FOLDER = 'test/conformance';
const PAGE = 'docs/agents.md';
const BEGIN = '<!-- conformance: made by `npm run conformance` -->\n\n';
const END = '\n<!-- /conformance -->';

/** A column for each data file. */
export function subjects(root = '.'): Subject[] {
  const files = readdirSync(join(root, FOLDER)).filter((name) => name.endsWith('.json'));
  return files.toSorted().map((name) => readSubject(join(root, FOLDER, name)));
}

/** The page with the table as it has to be. */
export function pageWithTable(page: string, all: readonly Subject[]): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from) throw new Error(`${PAGE} has no place for the table`);
  return page.slice(0, from + BEGIN.length) + conformanceTable(all) + page.slice(to);
}

if (process.argv[1]?.endsWith('conformance.js') === true) {
  writeFileSync(PAGE, pageWithTable(readFileSync(PAGE, 'utf8'), subjects()));
}
