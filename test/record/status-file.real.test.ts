import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  createStatusFile,
  readStatus,
  removeStaleTemporaries,
  type Replace,
  runDir,
  type Trouble,
  writeDurable,
  writeText,
} from '../../src/record/index.ts';
import { makeDir } from '../../src/record/create.ts';
import { bundle } from './bundle.ts';
import { deferred, json, mode, statusOf, tempFolder, until } from './support.ts';

const failing = (code: string): Error => Object.assign(new Error(code), { code });

describe('one writer', () => {
  test('writes one at a time, and the newest wins', async () => {
    const path = join(tempFolder(), 'status.json');
    const seen: number[] = [];
    const gate = deferred();
    let active = 0;
    const replace: Replace = async (_path, text) => {
      active += 1;
      expect(active).toBe(1);
      seen.push((JSON.parse(text) as { seq: number }).seq);
      await gate.promise;
      active -= 1;
    };
    const file = createStatusFile(path, { replace });
    for (let seq = 1; seq <= 50; seq += 1) file.write(statusOf('r1', seq));
    gate.resolve();
    expect(await file.flush()).toEqual({ type: 'ok' });
    expect(seen).toEqual([1, 50]);
    await file.close();
    file.write(statusOf('r1', 51));
    expect(await file.flush()).toEqual({ type: 'ok' });
    expect(seen).toEqual([1, 50]);
  });

  test('flush waits for what was handed over before it, not for all that comes after', async () => {
    let writes = 0;
    const file = createStatusFile('x', {
      replace: async () => {
        writes += 1;
        // There is always something newer, as from a run that never rests.
        if (writes < 1000) file.write(statusOf('r1', writes));
      },
    });
    file.write(statusOf('r1', 0));
    expect(await file.flush()).toEqual({ type: 'ok' });
    expect(writes).toBeLessThan(5);
    await file.close();
  });

  test('really writes, 0600', async () => {
    const path = join(tempFolder(), 'status.json');
    const file = createStatusFile(path);
    file.write(statusOf('r1', 3));
    expect(await file.close()).toEqual({ type: 'ok' });
    expect(json(path)).toEqual(statusOf('r1', 3));
    expect(mode(path)).toBe(0o600);
  });
});

describe('a rename that fails', () => {
  test('what passes is tried again a few times', async () => {
    let calls = 0;
    const replace: Replace = () => {
      calls += 1;
      return calls <= 5 ? Promise.reject(failing('EPERM')) : Promise.resolve();
    };
    expect(await writeText('x', '', { replace, ladderMs: [1, 1, 1, 1, 1, 1] })).toEqual({ type: 'ok' });
    expect(calls).toBe(6);
  });

  test('what does not pass is told once and tried again later, and nothing is thrown', async () => {
    const troubles: Trouble[] = [];
    let restored = 0;
    let broken = true;
    const written: number[] = [];
    const replace: Replace = (_path, text) => {
      if (broken) return Promise.reject(failing('EBUSY'));
      written.push((JSON.parse(text) as { seq: number }).seq);
      return Promise.resolve();
    };
    const file = createStatusFile('x', {
      replace,
      ladderMs: [1],
      retryMs: 5,
      onTrouble: (trouble) => troubles.push(trouble),
      onRestored: () => (restored += 1),
    });
    file.write(statusOf('r1', 1));
    expect(await file.flush()).toMatchObject({ type: 'trouble', code: 'EBUSY' });
    file.write(statusOf('r1', 2));
    expect(await file.flush()).toMatchObject({ type: 'trouble', code: 'EBUSY' });
    expect(troubles.map((trouble) => trouble.code)).toEqual(['EBUSY']);
    broken = false;
    await until(() => restored === 1, 'it is tried again by itself');
    expect(written).toEqual([2]);
    await file.close();
  });

  test('a full disk is no reason to wait', async () => {
    let calls = 0;
    const replace: Replace = () => {
      calls += 1;
      return Promise.reject(failing('ENOSPC'));
    };
    expect(await writeDurable('x', {}, { replace })).toMatchObject({ type: 'trouble', code: 'ENOSPC' });
    expect(calls).toBe(1);
  });
});

/** Ends a process we started, and waits for it. */
async function run(argv: string[]): Promise<string> {
  const child = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += String(chunk)));
  await once(child, 'close');
  return out;
}

describe('other processes', () => {
  test('a file that does not fit never takes the place of a good one', async () => {
    const folder = tempFolder();
    const script = await bundle(join(import.meta.dirname, 'limited-writer.ts'), folder);
    const path = join(folder, 'status.json');
    writeFileSync(path, '{"good":true}\n');
    // Blocks of 1 KiB: less than the script writes, so that the system cuts its write short.
    const out = await run(['bash', '-c', 'ulimit -f 2; exec "$0" "$@"', process.execPath, script, path]);
    expect(JSON.parse(out)).toMatchObject({ type: 'trouble', code: 'EFBIG' });
    expect(json(path)).toEqual({ good: true });
    expect(readdirSync(folder).filter((name) => name.startsWith('status'))).toEqual(['status.json']);
  });

  test('killed at any time, the writer leaves a status that can be read', async () => {
    const dir = runDir(tempFolder(), 'r1');
    makeDir(dir.path);
    const script = await bundle(join(import.meta.dirname, 'status-writer.ts'), dir.root);
    for (let round = 0; round < 20; round += 1) {
      const child = spawn(process.execPath, [script, dir.status], { stdio: ['ignore', 'pipe', 'inherit'] });
      const gone = once(child, 'exit');
      try {
        await once(child.stdout, 'data');
        // Anywhere in its next few writes, and it is read all the while.
        const end = performance.now() + Math.random() * 15;
        while (performance.now() < end) JSON.parse(readFileSync(dir.status, 'utf8'));
      } finally {
        child.kill('SIGKILL');
        await gone;
      }
      expect(readStatus(dir).type).toBe('ok');
    }
    removeStaleTemporaries(dir);
    expect(readdirSync(dir.path)).toEqual(['status.json']);
  });
});
