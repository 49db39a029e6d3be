import { basename, dirname, join } from 'node:path';
import type { SessionRequest } from '../adapter.ts';

/**
 * Where pi keeps the conversation: a file of the attempt that began it, among the sessions of the run. Named by us, so
 * that it is known also of a pi that was ended before it said anything; pi makes it with the first answer.
 */
export function sessionFile(request: Pick<SessionRequest, 'resume' | 'privateDir' | 'sessionDir'>): string {
  return join(request.sessionDir, sessionName(request));
}

/** Its name in that folder: what goes on record, because a run directory may be moved. */
export function sessionName({ resume, privateDir }: Pick<SessionRequest, 'resume' | 'privateDir'>): string {
  // Whatever a record says, it is a file of that folder.
  if (resume !== null) return basename(resume.session);
  return `${basename(dirname(privateDir))}.${basename(privateDir)}.jsonl`;
}
