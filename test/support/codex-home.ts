import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../real-codex/', import.meta.url));
/** The codex that `test/real-codex` installs. */
export const CODEX_CLI = join(FOLDER, 'node_modules/@openai/codex/bin/codex.js');

/** Why the tests of the real codex are left out; null when it is there. Said once a file, so that nobody takes it for green. */
export function codexMissing(): string | null {
  const reason = whyMissing();
  if (reason !== null) console.warn(`the tests of the real codex are skipped: ${reason}`);
  return reason;
}

function whyMissing(): string | null {
  if (process.env['COXSWAIN_REAL_CODEX'] === 'no') return 'COXSWAIN_REAL_CODEX=no';
  const [lock, installed] = [join(FOLDER, 'package-lock.json'), join(FOLDER, 'node_modules/.installed-lock')].map(read);
  return lock === installed ? null : 'it is not installed (npm run install:real-codex)';
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** A home for codex that knows one provider, `fake`, at the scripted model server. */
export interface CodexHome {
  dir: string;
  /** An empty working directory. */
  work: string;
  env: Record<string, string>;
  remove(): Promise<void>;
}

export async function makeCodexHome(url: string): Promise<CodexHome> {
  const dir = await mkdtemp(join(tmpdir(), 'coxswain-codex-'));
  const work = join(dir, 'work');
  const config = join(dir, 'codex');
  await mkdir(work);
  await mkdir(config);
  const provider = { name: 'fake', base_url: url, env_key: 'FAKE_KEY', wire_api: 'responses' };
  const lines = Object.entries(provider).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  const retries = ['request_max_retries = 0', 'stream_max_retries = 0'];
  await writeFile(join(config, 'config.toml'), ['[model_providers.fake]', ...lines, ...retries, ''].join('\n'));
  // The mark by which the end of a test run finds what was left.
  const marks = Object.entries(process.env).filter(([name]) => name.startsWith('COXSWAIN_T')) as [string, string][];
  return {
    dir,
    work,
    env: {
      ...Object.fromEntries(marks),
      PATH: process.env['PATH'] ?? '',
      HOME: dir,
      CODEX_HOME: config,
      FAKE_KEY: 'test',
    },
    remove: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  };
}
