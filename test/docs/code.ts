import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Block, ROOT } from './markdown.ts';

/** All blocks of TypeScript, compiled together as a project that has installed the package. */
export interface Compiled {
  /** What the compiler said; empty when all is well. Places are those of the pages. */
  errors: string;
  /** A script that runs blocks, one after the other in one process. `partsOf` takes its output apart. */
  script(blocks: readonly Block[]): string;
  remove(): void;
}

/** The entries of the package. */
export const ENTRIES = ['coxswain', 'coxswain/client', 'coxswain/testing', 'coxswain/machines'] as const;

const SEPARATOR = '=== next ===';
const MARK = `console.log('${SEPARATOR}');`;
const NAMES = `for (const name of ${JSON.stringify(ENTRIES)}) console.log(Object.keys(await import(name)).join(' '));`;

/** What each block printed, and last the names that each entry exports at run time, a line each. */
export function partsOf(stdout: string): string[] {
  return stdout.split(`${SEPARATOR}\n`).slice(1);
}

const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

export async function compile(blocks: readonly Block[]): Promise<Compiled> {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-docs-'));
  install(folder);
  const names = new Map(blocks.map((block, index) => [block, `block-${index}`]));
  for (const [block, name] of names) writeFileSync(join(folder, `${name}.ts`), `${block.text}export {};\n`);
  const tsc = spawn(process.execPath, [TSC, '-p', folder], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const [said, complained] = await Promise.all([text(tsc.stdout), text(tsc.stderr), once(tsc, 'close')]);
  let errors = said + complained;
  for (const [{ place }, name] of names) errors = errors.replaceAll(`${name}.ts`, place);
  return {
    errors,
    script(wanted) {
      const path = join(folder, 'out', 'all.js');
      const lines = wanted.flatMap((block) => [MARK, `await import('./${names.get(block)}.js');`]);
      writeFileSync(path, [...lines, MARK, NAMES, ''].join('\n'));
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** What `npm install coxswain xstate` gives, by links. */
function install(folder: string): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, 'coxswain'), 'dir');
  for (const name of ['xstate', '@types']) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const compilerOptions = { noEmit: false, outDir: 'out', rootDir: '.', typeRoots: [join(modules, '@types')] };
  const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*.ts'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
}
