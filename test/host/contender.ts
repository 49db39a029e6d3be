import { rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { takeLease } from '../../src/host/index.ts';
import { ownerOfThisProcess } from '../../src/runtime/run.ts';

/**
 * A process that wants a session, round by round, when it is told to: `<round>` takes it, holds a file that two must never
 * make at once, and gives it back; `hold` keeps it.
 */
const [root = '', session = '', guard = '', name = ''] = process.argv.slice(2);

async function round(line: string): Promise<string> {
  const record = {
    v: 1,
    session,
    owner: ownerOfThisProcess(),
    run: name,
    step: 's',
    attempt: 1,
    token: `${name}-${line}`,
    at: new Date().toISOString(),
  } as const;
  const taken = await takeLease({ root, record, isGone: () => Promise.resolve(true) });
  if (taken.type !== 'ok') return taken.type === 'busy' ? `busy ${taken.holder.record?.run ?? ''}` : taken.code;
  if (line === 'hold') return 'held';
  try {
    writeFileSync(guard, '', { flag: 'wx' });
  } catch {
    return 'BOTH';
  }
  await new Promise((resolve) => setImmediate(resolve));
  rmSync(guard);
  taken.lease.release();
  return 'had';
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${await round(line)}\n`);
