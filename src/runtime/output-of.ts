import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { AttemptInput } from '../../machines/protocol.ts';
import { type Check, MAX_VALUE_BYTES, type Written } from '../quality/index.ts';
import { type AttemptPaths, type RawLog, type Redactor, makeDir, sha256, troubleOf } from '../record/index.ts';
import type { Kit } from './kit.ts';
import type { Answer, Said } from './listener.ts';
import { INLINE_OUTPUT_BYTES, type Output } from './outputs.ts';
import { withoutSecrets } from './value.ts';

/** Of a text that could not be kept in a file. */
const KEPT_CHARS = 64 * 1024;

interface Spoken {
  kit: Kit;
  input: AttemptInput;
  paths: AttemptPaths;
  stdout: RawLog;
  /** The text is the whole of stdout. */
  plain: boolean;
}

/** What an attempt's last word comes to as the output of its step. `lastWords`: of one that did not end well. */
export function outputOf(said: Said | null, lastWords: string, spoken: Spoken): Output {
  if (said?.type === 'final' && said.text !== '') return finalOutput(said, spoken);
  if (said?.type === 'final') return { output: null, state: 'absent', truncated: false };
  if (lastWords !== '') return { output: { text: lastWords }, state: 'unknown', truncated: false };
  const { bytes } = spoken.stdout.summary();
  return { output: null, state: bytes === 0 ? 'absent' : 'unknown', truncated: false };
}

function finalOutput({ text, truncated }: Said & { type: 'final' }, spoken: Spoken): Output {
  if (!truncated && Buffer.byteLength(text) <= INLINE_OUTPUT_BYTES) {
    return { output: { text }, state: 'present', truncated: false };
  }
  if (truncated && spoken.plain) return rawReference(spoken);
  const output = textReference(text, spoken);
  return { ...output, truncated: output.truncated || truncated };
}

/**
 * The text is the whole of stdout: it lies there already, but for what is over the cap or could not be written. Streams
 * that are records most of the time are not hashed as they come: then that is done here, of what lies there.
 */
function rawReference({ kit, paths, stdout }: Spoken): Output {
  const { bytes, written, lines, sha256: hash } = stdout.summary();
  const path = relative(kit.dir.path, paths.stdout);
  const output = { path, bytes: written, lines, sha256: hash ?? sha256(contentOf(paths.stdout)) };
  return { output, state: 'present', truncated: written < bytes };
}

/** A text that is too long for the records lies in a file of its own; where that cannot be written, its beginning is kept. */
function textReference(text: string, { kit, input }: Spoken): Output {
  const { artifacts } = kit.dir;
  const file = join(artifacts, `${input.step}.${input.n}.txt`);
  try {
    makeDir(artifacts);
    writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    degraded(kit, file, error);
    return { output: { text: text.slice(0, KEPT_CHARS) }, state: 'present', truncated: true };
  }
  return { output: reference(kit, file, text), state: 'present', truncated: false };
}

/** The last word, where a value is to be read from it: whole, where stdout has what was too long to be held in memory. */
export function wholeText({ text, truncated }: Answer, { paths: { stdout }, plain }: Spoken): string {
  if (!truncated || !plain) return text;
  try {
    return statSync(stdout).size > MAX_VALUE_BYTES ? text : readFileSync(stdout, 'utf8');
  } catch {
    return text;
  }
}

/**
 * The value that was handed in, in place of the text: in the attempt's folder in any case, and in the result where it
 * fits the schema. Null: there is none that does.
 */
export function valueOutput(check: Check, { kit, paths }: Spoken): Output | null {
  const { submissions } = check;
  const kept = submissions?.kept ?? null;
  if (submissions === null || kept === null) return null;
  const json = withoutSecrets(kept, kit.redact);
  let isKept = true;
  try {
    writeFileSync(paths.value, json, { mode: 0o600 });
  } catch (error) {
    isKept = false;
    degraded(kit, paths.value, error);
  }
  if (submissions.finding().type !== 'valid') return null;
  const isSmall = Buffer.byteLength(json) <= INLINE_OUTPUT_BYTES;
  // A file that is not there is not referred to.
  const output = isSmall || !isKept ? { value: JSON.parse(json) as unknown } : reference(kit, paths.value, json);
  return { output, state: 'present', truncated: false };
}

/** A file of the step's own: small, its content; else the file itself, which stays where it is. */
export function fileOutput({ path, bytes, lines, sha256: hash, text }: Written, redact: Redactor): Output {
  const output = text === null ? { path, bytes, lines, sha256: hash } : { text: redact(text.replace(/\r?\n$/, '')) };
  return { output, state: 'present', truncated: false };
}

function reference(kit: Kit, file: string, text: string) {
  const path = relative(kit.dir.path, file);
  return { path, bytes: Buffer.byteLength(text), lines: text.split('\n').length, sha256: sha256(text) };
}

/** Nothing, where it could not be written: what is missing is told as cut. */
function contentOf(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch {
    return new Uint8Array();
  }
}

function degraded(kit: Kit, file: string, error: unknown): void {
  const { message } = troubleOf(error);
  kit.record({ type: 'persistence.degraded', at: kit.now(), line: basename(file), message });
}
