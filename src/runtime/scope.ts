import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Failure, StepId } from '../../machines/protocol.ts';
import type { ResolvedStep, Scope } from '../plan/index.ts';
import type { StepOutputRef } from '../record/index.ts';
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
    else if ('value' in output) steps[id] = { output: output.value };
    else if ('text' in output) steps[id] = { output: output.text };
    else if (output.bytes > MAX_TEMPLATE_OUTPUT_BYTES) {
      const message = `the output of step ${id} has ${output.bytes} bytes, more than a template takes; refer to the file ${output.path} in the task instead`;
      return { type: 'failed', failure: { code: 'template', message } };
    } else {
      const read = readBack(kit, id, output);
      if (read.type === 'failed') return read;
      steps[id] = { output: read.output };
    }
  }
  return { type: 'ok', scope: { steps } };
}

type ReadBack = { type: 'ok'; output: unknown } | { type: 'failed'; failure: Failure };

/** A file of the step's own lies where anybody may change it: then it is no longer what came out of the step. */
function readBack(kit: Kit, id: StepId, { path, sha256 }: Extract<StepOutputRef, { path: string }>): ReadBack {
  const file = resolve(kit.dir.path, path);
  let bytes: Buffer | null = null;
  try {
    bytes = readFileSync(file);
  } catch {
    // Said below.
  }
  const isSame = bytes !== null && (!isAbsolute(path) || createHash('sha256').update(bytes).digest('hex') === sha256);
  if (bytes === null || !isSame) {
    const message = `the output of step ${id} lay in ${file}, and is no longer there as it was`;
    return { type: 'failed', failure: { code: 'template', message } };
  }
  const text = bytes.toString('utf8');
  const isValue = (kit.step(id).output?.schema ?? null) !== null;
  return { type: 'ok', output: isValue ? (JSON.parse(text) as unknown) : text.replace(/\r?\n$/, '') };
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
