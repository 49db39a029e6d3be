import { mkdirSync } from 'node:fs';
import { runDir } from '../../src/record/index.ts';
import type { ControlPaths } from '../../src/record/index.ts';

/** The control folders of a run in that folder. */
export function controlAt(folder: string): ControlPaths {
  return runDir(folder, 'r');
}

export function makeControl(folder: string): ControlPaths {
  const paths = controlAt(folder);
  const { control, controlTemp, claimed, receipts, rejected } = paths;
  for (const path of [control, controlTemp, claimed, receipts, rejected]) mkdirSync(path, { recursive: true });
  return paths;
}
