import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { type RunDir, type RunResult, type StepResult, result as readResult } from '../client.ts';
import { EXIT } from './codes.ts';
import { why } from './describe.ts';
import { type PlaceOptions, failNotFound, failUnreadable } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { span } from './words.ts';

export interface ResultOptions extends PlaceOptions {
  step?: string;
  json?: boolean;
}

export async function result(run: string, options: ResultOptions, io: Io): Promise<number> {
  const reading = readResult(run, { root: options.root, env: io.env });
  switch (reading.type) {
    case 'ok':
      return print(reading, options, io);
    case 'not-ended':
      return fail(io, EXIT.notEnded, `run ${reading.id} has not ended: it has no result yet`);
    case 'corrupt':
    case 'newer':
      return failUnreadable(io, reading);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, reading);
  }
}

async function print(read: { result: RunResult; dir: RunDir }, options: ResultOptions, io: Io): Promise<number> {
  const { steps } = read.result;
  if (options.step === undefined) {
    if (options.json === true) await printJson(io, read.result);
    else await printAll(read, io);
    return EXIT.ok;
  }
  const step = steps.find(({ id }) => id === options.step);
  if (step === undefined) return fail(io, EXIT.usage, `the run has no step '${options.step}'; it has: ${names(steps)}`);
  if (options.json === true) await printJson(io, step);
  else await printOutput(step, read.dir, io);
  return EXIT.ok;
}

export function names(steps: readonly { id: string }[]): string {
  const shown = steps.slice(0, 20).map(({ id }) => id);
  return `${shown.join(', ')}${steps.length > shown.length ? `, and ${steps.length - shown.length} more` : ''}`;
}

async function printAll({ result: record, dir }: { result: RunResult; dir: RunDir }, io: Io): Promise<void> {
  io.out.line(`${record.state}: ${why(record.cause)} (${span(record.startedAt, record.endedAt)})`);
  for (const step of record.steps) {
    const failure = step.error === undefined ? '' : `: ${step.error.code}: ${step.error.message}`;
    await io.out.write(`\n== ${step.id}: ${step.state}${failure}\n`);
    await printOutput(step, dir, io);
  }
}

/** The output as it is, and a newline where it has none at its end. */
async function printOutput({ output }: StepResult, dir: RunDir, io: Io): Promise<void> {
  if (output === null) return;
  if ('text' in output) return io.out.write(output.text.endsWith('\n') ? output.text : `${output.text}\n`);
  if ('value' in output) return io.out.write(`${JSON.stringify(output.value, null, 2)}\n`);
  for await (const chunk of createReadStream(resolve(dir.path, output.path))) {
    if (io.out.closed.aborted) return;
    await io.out.write(chunk as Buffer);
  }
}
