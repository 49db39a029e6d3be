import type { StepsFile } from '../plan/steps-file.ts';

export type { StepsFile } from '../plan/steps-file.ts';

/** Reads the steps of a file for `append`: YAML or JSON. Loaded when it is needed. */
export async function readSteps(path: string): Promise<StepsFile> {
  const { loadSteps } = await import('../plan/steps-file.ts');
  return loadSteps(path);
}

/** The same from a text. */
export async function parseSteps(text: string): Promise<StepsFile> {
  const steps = await import('../plan/steps-file.ts');
  return steps.parseSteps(text);
}
