import { parseDeadline, parseDuration } from '../plan/index.ts';
import { type CommandFile, commandFileSchema, digest } from '../record/index.ts';
import { type Incoming, type Made, decideWith } from './decision.ts';

/** What a live run makes of an entry: a command is held to its schema, and delivered. */
export const decide = decideWith((json, { id, nowMs }) => {
  const parsed = commandFileSchema.safeParse(json);
  return parsed.success ? commandOf(parsed.data, id, nowMs) : invalid(faultsOf(parsed.error.issues));
});

function commandOf(file: CommandFile, id: string, nowMs: number): Made {
  const from = { id, source: file.source ?? 'file' };
  const ofStep = 'step' in file && file.step !== undefined ? { step: file.step } : {};
  switch (file.type) {
    case 'stop':
    case 'interrupt': {
      const reason = file.reason === undefined ? {} : { reason: file.reason };
      return made({ type: file.type, ...from, ...ofStep, ...reason });
    }
    case 'resume':
      return made({ type: 'resume', ...from, ...ofStep });
    case 'extend': {
      const deadline = parseDeadline(file.deadline, nowMs);
      if (deadline.type === 'bad') return bad('deadline', 'a length of time like 30m or an ISO 8601 instant');
      const { at: deadlineAt, limitMs } = deadline;
      return made({ type: 'extend', ...from, ...ofStep, deadlineAt, limitMs });
    }
    case 'append':
      return made({ type: 'append', ...from, steps: file.steps });
    case 'answer':
      return made({ type: 'answer', ...from, ask: file.ask, text: digest(file.text) }, file.text);
    case 'steer': {
      const expires = file.expires === undefined ? null : parseDuration(file.expires);
      if (expires?.type === 'bad') return bad('expires', 'a length of time like 10m');
      const { mode = 'auto', text } = file;
      const limit = expires === null ? {} : { expiresMs: expires.ms };
      return made({ type: 'steer', ...from, ...ofStep, mode, text: digest(text), ...limit }, text);
    }
  }
}

const made = (command: Incoming, text: string | null = null): Made => ({ type: 'ok', command, text });
const bad = (field: string, wanted: string): Made => invalid(`${field}: it must be ${wanted}`);
const invalid = (detail: string): Made => ({ type: 'bad', reason: 'invalid', detail });

/** Names of fields and what they should be; never their values. */
function faultsOf(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
