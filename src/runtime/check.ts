import { dirname } from 'node:path';
import { fromPromise } from 'xstate';
import type { CheckInput, Failure, Findings } from '../../machines/protocol.ts';
import { type ResolvedStep, outputFiles } from '../plan/index.ts';
import { Check, type Demand, type Written, compileSchema } from '../quality/index.ts';
import type { Kit } from './kit.ts';
import { fileOutput } from './output-of.ts';

/**
 * Sees how things stand before an attempt, where its step has something to show. One that goes on with the work is held
 * against what was there when that was begun. What cannot be seen is said before anything is started.
 */
export async function beginCheck(kit: Kit, step: ResolvedStep, goesOn: boolean): Promise<Failure | null> {
  if (step.output === null) return null;
  const before = goesOn ? kit.checks.get(step.id) : undefined;
  const check = before?.next() ?? (await Check.begin(demandOf(kit, step)));
  kit.checks.set(step.id, check);
  if (check.blind === null) return null;
  const message = `step ${step.id} has to change something in the git work tree, and git cannot read that: ${check.blind}`;
  return { code: 'no-changes', message: kit.redact(message), detail: { seen: false } };
}

function demandOf(kit: Kit, { id, cwd, output }: ResolvedStep): Demand {
  const { schema = null, changes = false } = output ?? {};
  const compiled = schema === null ? null : compileSchema(schema);
  if (compiled?.type === 'bad') throw new Error(`the schema of step ${id} was checked, and does not compile`);
  return {
    cwd,
    validator: compiled?.check ?? null,
    files: outputFiles(output),
    // Where runs are recorded is no work; the state root itself may be the work tree.
    changes: changes ? { apart: [dirname(kit.dir.path), dirname(kit.dir.activeMarker)] } : null,
  };
}

/** The `check` port: looks at what an attempt has to show, and takes the files among it for the step's output. */
export const check = (kit: Kit) =>
  fromPromise<Findings, CheckInput>(async ({ input: { step } }) => {
    const begun = kit.checks.get(step);
    if (begun === undefined)
      throw new Error(`step ${step} has something to show, and nobody saw what was there before`);
    const { findings, written } = await begun.look(() => kit.now());
    // What was handed in has gone where it belongs; what there was before may be needed again.
    kit.checks.set(step, begun.next());
    keepFiles(kit, step, written);
    return withoutSecrets(findings, kit);
  });

function keepFiles(kit: Kit, id: string, written: readonly Written[]): void {
  const { output } = kit.step(id);
  if (output === null || outputFiles(output).length === 0) return;
  const files = written.map(({ text: _text, ...file }) => file);
  const main = written.find(({ file }) => file === output.file);
  const said = kit.outputs.get(id);
  kit.outputs.set(id, { ...said, ...(main === undefined ? {} : fileOutput(main, kit.redact)), files });
}

/** Names of fields can be what somebody has set as a secret. */
function withoutSecrets(findings: Findings, { redact }: Kit): Findings {
  const { value } = findings;
  if (value?.type !== 'invalid') return findings;
  const problems = value.problems.map(({ path, message }) => ({ path: redact(path), message: redact(message) }));
  return { ...findings, value: { type: 'invalid', problems } };
}
