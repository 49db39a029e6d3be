import { type NotFound, type Unreadable, describeNotFound, parseTime } from '../client.ts';
import { EXIT } from './codes.ts';
import { type Io, fail } from './io.ts';

/** Options that every verb about runs has. */
export interface PlaceOptions {
  root?: string;
}

export function failNotFound(io: Io, found: NotFound): number {
  return fail(io, found.type === 'missing' ? EXIT.missing : EXIT.usage, describeNotFound(found));
}

export function failUnreadable(io: Io, reading: Unreadable): number {
  return fail(io, EXIT.unreadable, describeUnreadable(reading));
}

export function describeUnreadable(reading: Unreadable): string {
  switch (reading.type) {
    case 'corrupt':
      return `${reading.path} is corrupt: ${reading.reason}`;
    case 'newer':
      return `${reading.path} was written by a newer coxswain (version ${reading.version} of the format): use that one`;
  }
}

/** `--root` again, for commands that are shown to people. */
export function rootFlag({ root }: PlaceOptions, quote: (word: string) => string): string {
  return root === undefined ? '' : ` --root ${quote(root)}`;
}

export type Time = { type: 'ok'; ms: number | undefined } | { type: 'bad'; message: string };

/** The value of an option such as `--timeout`. */
export async function timeOf(option: string, value: string | undefined): Promise<Time> {
  if (value === undefined) return { type: 'ok', ms: undefined };
  const parsed = await parseTime(value);
  return parsed.type === 'ok'
    ? parsed
    : { type: 'bad', message: `${option} must be a time like 90s or 30m; ${parsed.reason}` };
}
