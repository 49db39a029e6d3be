import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** `npm test` installs the real codex when it can; what stands in its way is said and holds up nobody. */
const at = (name: string): string => fileURLToPath(new URL(`../real-codex/${name}`, import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-no-codex-'));
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(at(name), join(folder, name));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function install(env: Record<string, string>): Promise<string> {
  const cache = { npm_config_cache: join(folder, 'cache') };
  const { stdout } = await promisify(execFile)(process.execPath, [at('install.mjs'), folder], {
    env: { ...process.env, COXSWAIN_REAL_CODEX: '', ...cache, ...env },
  });
  return stdout;
}

test('who says no to it is told that its tests are skipped', async () => {
  expect(await install({ COXSWAIN_REAL_CODEX: 'no' })).toBe(
    'The real codex is not installed, so its tests are skipped (COXSWAIN_REAL_CODEX=no).\n',
  );
  expect(existsSync(join(folder, 'node_modules'))).toBe(false);
});

test('a registry that hangs up is a reason that is printed, not an error', async () => {
  const asked: string[] = [];
  const registry: Server = createServer((socket) => {
    asked.push('asked');
    socket.destroy();
  });
  await new Promise<void>((resolve) => void registry.listen(0, '127.0.0.1', resolve));
  const address = registry.address();
  const port = typeof address === 'object' ? address?.port : 0;
  try {
    const said = await install({ npm_config_registry: `http://127.0.0.1:${port}/` });
    expect(said).toMatch(/^The real codex is not installed, so its tests are skipped \(npm ci: .+\)\.\n$/);
    expect(asked).not.toEqual([]);
    expect(existsSync(join(folder, 'node_modules', '.installed-lock'))).toBe(false);
  } finally {
    registry.close();
  }
});
