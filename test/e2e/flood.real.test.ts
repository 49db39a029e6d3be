import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { RunResult } from '../../src/index.ts';
import { attempt, openCli, until } from '../support/cli.ts';

/** Prints what pi 0.73 printed: with every delta the whole answer so far, twice. */
const PROGRAM = fileURLToPath(new URL('../../dist/bench/support/pi-flood.js', import.meta.url));
const MiB = 1024 * 1024;
const CHARS = 200_000;

const bytesOf = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;

test.runIf(process.platform === 'linux')(
  'S063: of 2,000 updates that each hold all of the answer so far, the runner keeps little, and the record the answer once',
  async () => {
    await using cli = openCli();
    const gate = join(cli.cwd, 'gate');
    const command = [process.execPath, PROGRAM, String(CHARS), '2000', gate, '1'];
    const plan = {
      version: 1,
      agents: { flood: { adapter: 'pi', mode: 'json', command } },
      steps: [{ id: 'a', agent: 'flood', task: 'Say it.' }],
    };
    cli.file('plan.json', JSON.stringify(plan));
    const { id, directory, pid } = await cli.detach(['plan.json']);
    const raw = join(directory, 'attempts', 'a', '1', 'stdout.jsonl');
    await until(() => attempt(() => cli.status(id).steps[0]?.lastActivityAt) !== undefined, 'it has begun');
    const before = bytesOf(pid, 'VmRSS');
    writeFileSync(`${gate}.1`, '');
    await until(() => existsSync(`${gate}.done`), 'all updates are written');
    // All but what is still in the pipe has been read.
    const grown = bytesOf(pid, 'VmHWM') - before;
    writeFileSync(`${gate}.2`, '');
    await until(() => existsSync(join(directory, 'results', '1.json')), 'it has ended');
    await until(() => attempt(() => cli.status(id).state) === 'completed', 'and says so');

    expect(grown).toBeLessThan(64 * MiB);
    expect(statSync(join(directory, 'events.jsonl')).size).toBeLessThan(2 * MiB);
    const rawBytes = statSync(raw).size;
    expect(rawBytes).toBeGreaterThan(49 * MiB);
    expect(rawBytes).toBeLessThan(50 * MiB + 1024);
    const result = JSON.parse(readFileSync(join(directory, 'result.json'), 'utf8')) as RunResult;
    const { output, attempts } = result.steps[0] ?? {};
    const whole = output !== undefined && output !== null && 'text' in output ? output.text : '';
    expect(whole).toHaveLength(CHARS);
    expect(attempts).toMatchObject([{ usage: { input: 100, output: 80_000, turns: 1 } }]);
    const holding = readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'stdout.jsonl')
      .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
      .flatMap((name) =>
        readFileSync(join(directory, name), 'utf8')
          .split(whole)
          .slice(1)
          .map(() => name),
      );
    // The second one is kept for this epoch.
    expect(holding.toSorted()).toEqual(['result.json', 'results/1.json']);
  },
);
