import { type PlanSource, type Run, isCoxswainError, start, superviseProcess } from '../index.ts';
import { EXIT } from './codes.ts';
import { type ConfigOption, configOf } from './config.ts';
import { type PlaceOptions, rootFlag } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { checkProof } from './proof.ts';
import { type ViewOptions, viewOf } from './progress/index.ts';
import { summary } from './summary.ts';
import { quoted } from './words.ts';

export interface AttachedOptions extends PlaceOptions, ViewOptions, ConfigOption {
  id?: string;
  cwd?: string;
}

/** Runs a plan in this process, shows it, and gives back its exit code. A reader that goes away does not end the run. */
export async function attached(
  source: PlanSource,
  options: AttachedOptions,
  io: Io,
): Promise<{ code: number; run: Run }> {
  const { root, id, cwd } = options;
  const { run, exitCode } = await superviseProcess(() =>
    start(source, {
      env: io.env,
      ...configOf(options),
      ...(root === undefined ? {} : { root }),
      ...(id === undefined ? {} : { id }),
      ...(cwd === undefined ? {} : { cwd }),
    }),
  );
  const view = viewOf(run, options, io);
  const code = await exitCode;
  await view.close();
  return { run, code: await report(run, code, options, io) };
}

async function report(run: Run, code: number, options: AttachedOptions, io: Io): Promise<number> {
  if (options.json === true) return checkProof(run.id, await printResult(run, code, io), options, io);
  const flag = rootFlag(options, quoted);
  for (const line of summary(run.status(), { directory: run.directory, rootFlag: flag })) io.out.line(line);
  if (code === EXIT.incomplete) return fail(io, code, `the end of the run could not be recorded in ${run.directory}`);
  return checkProof(run.id, code, options, io);
}

async function printResult(run: Run, code: number, io: Io): Promise<number> {
  try {
    await printJson(io, await run.result());
    return code;
  } catch (error) {
    if (!isCoxswainError(error)) throw error;
    return fail(io, EXIT.incomplete, error.message);
  }
}
