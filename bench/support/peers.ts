import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const WIREIT = 'wireit@0.14.13';
export const PARALLEL = 'parallel';

/** Why a peer cannot run here; null when it can. */
export type Missing = string | null;

export function lookForParallel(): Missing {
  const found = spawnSync(PARALLEL, ['--version'], { encoding: 'utf8' });
  if (found.error !== undefined) return 'GNU parallel is not installed';
  return found.stdout.startsWith('GNU parallel') ? null : '`parallel` is another program';
}

/** Installs wireit into a folder of its own. The caller removes the folder. */
export function installWireit(): { folder: string; missing: Missing } {
  const folder = mkdtempSync(join(tmpdir(), 'bench-wireit-'));
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', WIREIT];
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return { folder, missing: null };
  return { folder, missing: `npm could not install ${WIREIT}: ${(stderr ?? '').split('\n', 1)[0] ?? ''}` };
}
