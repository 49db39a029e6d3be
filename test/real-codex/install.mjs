/**
 * Installs the real codex for the tests, as well as it can: never an error, never longer than the bound. Without it, its
 * tests are skipped, and say why.
 *
 *   node test/real-codex/install.mjs [folder]
 *
 * The folder has a package.json and its lock; default is this one. COXSWAIN_REAL_CODEX=no leaves it out.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** It takes about 5 seconds; a registry that does not answer must not hold up the tests. */
const INSTALL_MS = 90_000;
const ANSWER_MS = 20_000;

const folder = process.argv[2] ?? fileURLToPath(new URL('.', import.meta.url));
const lock = join(folder, 'package-lock.json');
/** A copy of the lock that was installed, once codex has answered: the tests look for it. */
const mark = join(folder, 'node_modules', '.installed-lock');

/** Why it is not there; null when it is. */
function install() {
  if (process.env.COXSWAIN_REAL_CODEX === 'no') return 'COXSWAIN_REAL_CODEX=no';
  if (contentOf(mark) === readFileSync(lock, 'utf8')) return null;
  rmSync(mark, { force: true });
  const installed = run(npm(), INSTALL_MS);
  if (installed !== null) return `npm ci: ${installed}`;
  const answer = run(
    [process.execPath, join(folder, 'node_modules', '@openai', 'codex', 'bin', 'codex.js'), '--version'],
    ANSWER_MS,
  );
  if (answer !== null) return `it does not run here: ${answer}`;
  copyFileSync(lock, mark);
  return null;
}

function npm() {
  const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  // One try each: the default is three, with waits of up to a minute.
  const bounded = ['--fetch-retries=0', '--fetch-timeout=30000'];
  const { npm_execpath: cli } = process.env;
  return [...(cli === undefined ? ['npm'] : [process.execPath, cli]), ...args, ...bounded];
}

/** What was wrong, in one line; null when nothing was. */
function run([program, ...args], timeout) {
  const { error, status, signal, stderr } = spawnSync(program, args, {
    timeout,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (error?.code === 'ETIMEDOUT') return `nothing within ${timeout / 1000} s`;
  if (error !== undefined) return error.message;
  if (status === 0) return null;
  const said = stderr.split('\n').find((line) => line.trim() !== '');
  return said ?? (signal === null ? `exit code ${status}` : `ended by ${signal}`);
}

function contentOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

const missing = install();
if (missing !== null) console.log(`The real codex is not installed, so its tests are skipped (${missing}).`);
