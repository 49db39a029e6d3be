import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  addActive,
  claimOwner,
  createAttemptDir,
  createRawLog,
  createRunDir,
  createTranscript,
  lastEpoch,
  listActive,
  openJournal,
  readOwner,
  removeActive,
  removeStaleTemporaries,
  runDir,
  writeDurable,
} from '../../src/record/index.ts';
import { body, everything, json, owner, tempFolder } from './support.ts';

function created(root: string, id: string) {
  const made = createRunDir(root, id, { version: 1 });
  if (made.type !== 'ok') throw new Error(`no run directory: ${made.type}`);
  return made.dir;
}

describe('the run directory', () => {
  test('is made once', () => {
    const root = tempFolder();
    const dir = created(root, 'r1');
    expect(json(dir.plan)).toEqual({ version: 1 });
    expect(readdirSync(dir.control).toSorted()).toEqual(['claimed', 'receipts', 'rejected']);
    expect(existsSync(dir.controlTemp)).toBe(true);
    expect(createRunDir(root, 'r1', { other: true }).type).toBe('exists');
    expect(json(dir.plan)).toEqual({ version: 1 });
  });

  test('an unsafe id makes nothing', () => {
    const root = tempFolder();
    for (const id of ['../x', 'a/b', '', 'x'.repeat(300), 'CON', 'a\nb']) {
      expect(createRunDir(root, id, {})).toMatchObject({ type: 'refused', reason: 'unsafe-id' });
    }
    expect(readdirSync(root)).toEqual([]);
  });

  test('what cannot be made is an outcome and leaves nothing', () => {
    const root = tempFolder();
    writeFileSync(join(root, 'runs'), 'in the way');
    // The system calls it EEXIST, which must not read as "there is such a run".
    expect(createRunDir(root, 'r1', {}).type).toBe('trouble');
  });

  test('everything in it is 0700 and 0600 under umask 0', async () => {
    const before = process.umask(0);
    try {
      const root = tempFolder();
      const dir = created(root, 'r1');
      claimOwner(dir, 1, owner);
      addActive(dir);
      const attempt = createAttemptDir(dir, 'step', 1);
      if (attempt.type !== 'ok') throw new Error('no attempt folder');
      const raw = createRawLog(attempt.paths.stdout);
      raw.write(Buffer.from('x\n'));
      raw.close();
      const transcript = createTranscript(attempt.paths.transcript);
      transcript.append({ t: 'note' });
      transcript.close();
      const journal = openJournal(dir.journal, { epoch: 1, firstSeq: 1 });
      journal.append(body(1));
      journal.close();
      await writeDurable(dir.result, { v: 1 });
      const modes = everything(root).map((path) => {
        const stat = statSync(path);
        return `${path.slice(root.length)} ${(stat.mode & 0o777).toString(8)} ${stat.isDirectory() ? 'd' : 'f'}`;
      });
      expect(modes.length).toBeGreaterThan(15);
      for (const line of modes) expect(line).toMatch(/ (?:700 d|600 f)$/);
    } finally {
      process.umask(before);
    }
  });
});

describe('owners', () => {
  test('an epoch has one', () => {
    const dir = created(tempFolder(), 'r1');
    expect(lastEpoch(dir)).toBe(0);
    expect(claimOwner(dir, 1, owner)).toEqual({ type: 'ok' });
    expect(claimOwner(dir, 1, { ...owner, instance: 'other' })).toEqual({ type: 'taken', owner });
    expect(claimOwner(dir, 2, { ...owner, instance: 'next' })).toEqual({ type: 'ok' });
    expect(readOwner(dir, 2)?.instance).toBe('next');
    expect(lastEpoch(dir)).toBe(2);
    expect(readdirSync(dir.owners).toSorted()).toEqual(['1.json', '2.json']);
    expect(readdirSync(dir.path).filter((name) => name.startsWith('owner-'))).toEqual([]);
  });

  test('an unreadable one is taken all the same', () => {
    const dir = created(tempFolder(), 'r1');
    writeFileSync(dir.owner(1), '{');
    expect(claimOwner(dir, 1, owner)).toEqual({ type: 'taken', owner: null });
    expect(readOwner(dir, 7)).toBeNull();
  });
});

describe('the active marker', () => {
  test('comes and goes', () => {
    const root = tempFolder();
    const dir = created(root, 'r1');
    expect(listActive(root)).toEqual([]);
    expect(addActive(dir)).toEqual({ type: 'ok' });
    expect(addActive(dir)).toEqual({ type: 'ok' });
    expect(listActive(root)).toEqual(['r1']);
    expect(removeActive(dir)).toEqual({ type: 'ok' });
    expect(removeActive(dir)).toEqual({ type: 'ok' });
    expect(listActive(root)).toEqual([]);
  });
});

test('temporaries of a dead writer go, everything else stays', () => {
  const dir = runDir(tempFolder(), 'r1');
  mkdirSync(dir.path, { recursive: true });
  const names = ['status.json', 'status.json.123', 'result.json.9', 'plan.json', 'notes.json.x', 'events.jsonl'];
  for (const name of names) writeFileSync(join(dir.path, name), '');
  expect(removeStaleTemporaries(dir)).toBe(2);
  expect(readdirSync(dir.path).toSorted()).toEqual(['events.jsonl', 'notes.json.x', 'plan.json', 'status.json']);
});
