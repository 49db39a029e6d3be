import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlanInput } from '../index.ts';
import { attached } from './attached.ts';
import { diagramsFolder } from './diagrams.ts';
import type { PlaceOptions } from './finding.ts';
import type { Io } from './io.ts';

export interface DemoOptions extends PlaceOptions {
  plain?: boolean;
}

/** Three steps, each of which gets the answer of the one before. */
function demoPlan(): PlanInput {
  const agent = fileURLToPath(new URL('./demo-agent.js', import.meta.url));
  return {
    version: 1,
    name: 'demo',
    limits: { timeout: '1m' },
    agents: { demo: { adapter: 'pi', mode: 'json', command: [process.execPath, agent] } },
    defaults: { agent: 'demo' },
    steps: [
      { id: 'scout', task: 'List the modules that touch billing.' },
      { id: 'fix', task: 'Fix the rounding in them. What the scout said: {{ steps.scout.output }}' },
      { id: 'review', task: 'Review the change. What was done: {{ steps.fix.output }}' },
    ],
  };
}

/** Runs in a folder of its own, which is removed; the record stays where all records are. */
export async function demo(options: DemoOptions, io: Io): Promise<number> {
  const cwd = mkdtempSync(join(tmpdir(), 'coxswain-demo-'));
  try {
    io.out.line('Three steps with a bundled agent that only pretends to work: no key, no network, no files changed.');
    io.out.line();
    const { code, run } = await attached({ plan: demoPlan() }, { ...options, cwd, config: false }, io);
    io.out.line();
    io.out.line('Look at:');
    io.out.line(`  status    ${join(run.directory, 'status.json')}`);
    io.out.line(`  journal   ${join(run.directory, 'events.jsonl')}`);
    io.out.line(`  report    ${join(run.directory, 'report.md')}`);
    io.out.line(`  diagrams  ${diagramsFolder()}`);
    return code;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
