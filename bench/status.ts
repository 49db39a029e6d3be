/**
 * What `coxswain status <run>` takes, against `node -e 0`. JSON on stdout, a table on stderr.
 *
 *   npm run bench:status [-- --rounds 15]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { run } from './support/process.ts';
import { median, rounded, table } from './support/stats.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });
const cli = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'bench-status-'));

try {
  await node(cli, 'run', '--root', root, '--id', 'bench', '--', '/bin/true');
  const bare: number[] = [];
  const status: number[] = [];
  // The first round warms the file cache.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const base = await node('-e', '0');
    const own = await node(cli, 'status', '--root', root, 'bench');
    if (round === 0) continue;
    bare.push(base);
    status.push(own);
  }
  report(bare, status);
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function node(...args: string[]): Promise<number> {
  const { code, ms, stderr } = await run(process.execPath, args, { cwd: root });
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${stderr}`);
  return ms;
}

function report(bare: readonly number[], status: readonly number[]): void {
  const result = {
    rounds: status.length,
    nodeMs: rounded(median(bare), 1),
    statusMs: rounded(median(status), 1),
    /** Of status to bare node; at most 2 is the aim. */
    ratio: rounded(median(status.map((ms, round) => ms / (bare[round] ?? Number.NaN)))),
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  process.stderr.write(
    `${table([
      ['', 'ms', 'x node -e 0'],
      ['node -e 0', String(result.nodeMs), '1'],
      ['coxswain status', String(result.statusMs), String(result.ratio)],
    ])}\n`,
  );
}
