import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { LaunchRequest } from '../adapter.ts';

/**
 * A session is a configuration folder among the sessions of the run, and an id in it. Both are of the attempt that began it
 * and of nobody else, and on record as `<folder>/<id>`, because a run directory may be moved.
 */
export interface SessionName {
  folder: string;
  id: string;
}

export function sessionOf({ resume, privateDir }: Pick<LaunchRequest, 'resume' | 'privateDir'>): SessionName {
  if (resume !== null) return { folder: basename(dirname(resume.session)), id: basename(resume.session) };
  return { folder: `${basename(dirname(privateDir))}.${basename(privateDir)}.claude`, id: uuidOf(privateDir) };
}

export const nameOf = ({ folder, id }: SessionName): string => `${folder}/${id}`;

export const configDir = (request: LaunchRequest): string => join(request.sessionDir, sessionOf(request).folder);

/** A UUID (version 8) that is always the same for the same parts. The client takes nothing else for an id. */
export function uuidOf(...parts: string[]): string {
  const hex = createHash('sha256').update(parts.join('\0')).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
