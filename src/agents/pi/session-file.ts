import { basename, dirname, join } from 'node:path';
import type { SessionRequest } from '../adapter.ts';

type Request = Pick<SessionRequest, 'settings' | 'resume' | 'privateDir'>;

/**
 * Where pi keeps the conversation: a file of the attempt that began it, or one that is shared. Named by us, so that it is known
 * also of a pi that was ended before it said anything; pi makes it with the first answer, and goes on in one that is there.
 */
export function sessionFile(request: Request & Pick<SessionRequest, 'sessionDir'>): string {
  return join(request.sessionDir, sessionName(request));
}

/** Its name in that folder: what goes on record, because a run directory may be moved. */
export function sessionName({ settings, resume, privateDir }: Request): string {
  // Whatever a record says, it is a file of that folder.
  if (resume !== null) return basename(resume.session);
  if (settings.session?.type === 'shared') return `${basename(settings.session.name)}.jsonl`;
  return `${basename(dirname(privateDir))}.${basename(privateDir)}.jsonl`;
}
