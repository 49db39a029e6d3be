import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { SessionRequest } from '../adapter.ts';

/**
 * A session is an id in a configuration folder. The folder is one of the attempt that began it, among the sessions of the
 * run, and on record as `<folder>/<id>`, because a run directory may be moved; or the user's own, then it is the id alone.
 */
export interface SessionName {
  folder: string | null;
  id: string;
}

type Request = Pick<SessionRequest, 'resume' | 'privateDir' | 'env'>;

export function sessionOf({ resume, privateDir, env }: Request): SessionName {
  if (resume !== null) return { folder: folderIn(resume.session), id: basename(resume.session) };
  const folder = hidesNoLogin(env) ? `${basename(dirname(privateDir))}.${basename(privateDir)}.claude` : null;
  return { folder, id: uuidOf(privateDir) };
}

/** Whatever a record says, it is a folder among the sessions. */
function folderIn(session: string): string | null {
  const folder = basename(dirname(session));
  return folder === '' || folder === '.' || folder === '..' ? null : folder;
}

/** What Claude Code is let in by without looking into its configuration. */
const KEYS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_VERTEX',
];

/** A login lies in the configuration folder, or under its name in the keychain; another folder has none. */
const hidesNoLogin = (env: Readonly<Record<string, string>>): boolean =>
  env['CLAUDE_CONFIG_DIR'] === undefined && KEYS.some((name) => (env[name] ?? '') !== '');

export const nameOf = ({ folder, id }: SessionName): string => (folder === null ? id : `${folder}/${id}`);

/** Where it is written, as far as it takes to tell one session from another. */
export function sessionPath(request: SessionRequest): string {
  const { folder, id } = sessionOf(request);
  const { CLAUDE_CONFIG_DIR: own, HOME: home = '' } = request.env;
  return join(folder === null ? (own ?? join(home, '.claude')) : join(request.sessionDir, folder), id);
}

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
