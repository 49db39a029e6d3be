import { CappedFile, type LogFiles } from './capped-file.ts';
import { isObject } from './json.ts';
import { digest } from './names.ts';

export interface TranscriptOptions {
  /** @default 50 MiB */
  capBytes?: number;
  /** Most characters of one text, and of one structured value as JSON. @default 32768 */
  payloadChars?: number;
  /** Takes secrets out of every text, before it is cut. @default none */
  redact?: (text: string) => string;
  files?: LogFiles;
}

export interface TranscriptSummary {
  lines: number;
  truncated: boolean;
  errors: number;
  lastError: string | null;
}

/**
 * `transcript.jsonl`: an attempt's normalised events, a line each. Texts are redacted and cut; the text of a message
 * with role `user` is replaced by its digest whatever the caller does, because it may be the task. Lines are written
 * together, once a turn of the event loop. Never throws.
 */
export interface Transcript {
  append(event: Readonly<Record<string, unknown>>): void;
  /** Writes now what waits. */
  flush(): void;
  close(): TranscriptSummary;
}

/** More than this in one turn is written at once: memory before economy. */
const flushAtChars = 1024 * 1024;

export function createTranscript(path: string, options: TranscriptOptions = {}): Transcript {
  const { capBytes = 50 * 1024 * 1024, payloadChars = 32 * 1024, redact = (text) => text } = options;
  const file = new CappedFile(path, {
    capBytes,
    wholeLines: true,
    note: ({ kind, ...rest }) => JSON.stringify({ t: kind, ...rest }),
    ...(options.files && { files: options.files }),
  });
  let waiting: string[] = [];
  let waitingChars = 0;
  let scheduled: NodeJS.Immediate | null = null;
  let lines = 0;

  function flush(): void {
    if (scheduled !== null) clearImmediate(scheduled);
    scheduled = null;
    if (waiting.length === 0) return;
    const data = Buffer.from(waiting.join(''));
    waiting = [];
    waitingChars = 0;
    file.write(data);
  }

  return {
    append(event) {
      if (file.truncated) return;
      lines += 1;
      const line = `${JSON.stringify(kept(event, payloadChars, redact))}\n`;
      waiting.push(line);
      waitingChars += line.length;
      if (waitingChars > flushAtChars) flush();
      else scheduled ??= setImmediate(flush);
    },
    flush,
    close() {
      flush();
      file.close();
      const { truncated, errors, lastError } = file;
      return { lines, truncated, errors, lastError };
    },
  };
}

function kept(event: Readonly<Record<string, unknown>>, most: number, redact: (text: string) => string): object {
  const line: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(event)) {
    if (name === 'text' && event['role'] === 'user' && typeof value === 'string') line[name] = digest(value);
    else line[name] = keptValue(value, most, redact);
  }
  return line;
}

function keptValue(value: unknown, most: number, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return cut(redact(value), most);
  if (!isObject(value) && !Array.isArray(value)) return value;
  const json = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'string' ? cut(redact(inner), most) : inner,
  );
  return json.length > most ? { cut: true, chars: json.length } : (JSON.parse(json) as unknown);
}

/** Cut between characters: half of a surrogate pair would not survive as UTF-8. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = isHighSurrogate(text.charCodeAt(most - 1)) ? most - 1 : most;
  return `${text.slice(0, end)} [${text.length - end} characters cut]`;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
