import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Failure } from '../../machines/protocol.ts';
import type { ResolvedStep, Scope } from '../plan/index.ts';
import type { Kit } from './kit.ts';

/** An output kept in a file is read back for a template up to this size; a larger one fails the step. */
const MAX_TEMPLATE_OUTPUT_BYTES = 8 * 1024 * 1024;

/** What a step's templates may refer to: the outputs of the steps it needs, and of those that they need. */
export function scopeFor(
  kit: Kit,
  step: ResolvedStep,
): { type: 'ok'; scope: Scope } | { type: 'failed'; failure: Failure } {
  const steps: Scope['steps'] = Object.create(null) as Scope['steps'];
  for (const id of ancestors(kit, step)) {
    const { output } = kit.outputs.get(id);
    if (output === null) steps[id] = { output: '' };
    else if ('text' in output) steps[id] = { output: output.text };
    else if (output.bytes > MAX_TEMPLATE_OUTPUT_BYTES) {
      const message = `the output of step ${id} has ${output.bytes} bytes, more than a template takes; refer to the file ${output.path} in the task instead`;
      return { type: 'failed', failure: { code: 'template', message } };
    } else steps[id] = { output: readFileSync(join(kit.dir.path, output.path), 'utf8').replace(/\r?\n$/, '') };
  }
  return { type: 'ok', scope: { steps } };
}

function ancestors(kit: Kit, step: ResolvedStep): Set<string> {
  const found = new Set<string>();
  const visit = (ids: readonly string[]): void => {
    for (const id of ids) {
      if (found.has(id)) continue;
      found.add(id);
      visit(kit.step(id).needs);
    }
  };
  visit(step.needs);
  return found;
}
