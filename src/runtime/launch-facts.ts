import { createHash } from 'node:crypto';
import { type Agent, INHERITED, type Launch, type LaunchRequest } from '../agents/index.ts';
import { type LaunchFacts, digest } from '../record/index.ts';

/** Stand for what is of one attempt alone, so that two launches of the same kind are told by the same words. */
const ATTEMPT = '{attempt}';
const SESSIONS = '{sessions}';

/** What of a launch another one can be held against. `redact`: nothing of a secret goes into the record, nor into the digest. */
export function factsOf(
  { name, adapter, settings, foundBy }: Agent,
  request: LaunchRequest,
  launch: Launch,
  { version, redact }: { version: string | null; redact: (text: string) => string },
): LaunchFacts {
  const { tools, extensions = [], skills = [], mcp = {}, inherit = {}, permissions = {} } = settings;
  const canonical = canonicalOf(adapter, request, launch);
  return {
    agent: name,
    client: { adapter: adapter.id, mode: settings.mode ?? adapter.modes[0].name, version },
    program: foundBy === 'definition' ? (settings.command ?? []).map(redact) : null,
    argv: (canonical.redactedArgv ?? canonical.argv).map(redact),
    cwd: request.cwd,
    env: Object.keys(canonical.env).toSorted(),
    model: request.model,
    thinking: settings.thinking ?? null,
    systemPrompt: promptOf(settings),
    tools: { only: tools?.only ?? null, required: tools?.required ?? [] },
    extensions,
    skills,
    mcp: Object.keys(mcp).toSorted(),
    without: INHERITED.filter((what) => inherit[what] === false),
    permissions: Object.entries(permissions).map(([tool, answer]) => `${tool}: ${answer}`),
    task: request.task === null ? null : digest(request.task),
  };
}

/** As if it began a session, in folders that are nobody's. A step's own command is what it is. */
function canonicalOf(adapter: Agent['adapter'], request: LaunchRequest, launch: Launch): Launch {
  if (request.run !== null) return launch;
  const nobodys = { privateDir: ATTEMPT, sessionDir: SESSIONS, resume: null, mailbox: null, delivery: 'auto' } as const;
  return adapter.launch({ ...request, ...nobodys });
}

function promptOf({ systemPrompt }: LaunchRequest['settings']): LaunchFacts['systemPrompt'] {
  if (systemPrompt === undefined) return null;
  return 'append' in systemPrompt
    ? { how: 'append', ...digest(systemPrompt.append) }
    : { how: 'replace', ...digest(systemPrompt.replace) };
}

/** The first 16 hex digits of their hash. */
export function digestOf(facts: LaunchFacts): string {
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16);
}

/**
 * What of a session that was begun before must not be otherwise when an agent goes on in it: who works there, at what, and
 * what it may do. An agent that is given more than it had when it was told what to do could do what nobody has agreed to.
 */
const REFUSED: readonly (readonly [field: string, of: (facts: LaunchFacts) => unknown])[] = [
  ['agent', ({ agent }) => agent],
  ['adapter', ({ client }) => client.adapter],
  ['mode', ({ client }) => client.mode],
  ['program', ({ program }) => program],
  ['cwd', ({ cwd }) => cwd],
  ['task', ({ task }) => task],
  ['systemPrompt', ({ systemPrompt }) => systemPrompt],
  ['tools', ({ tools }) => tools],
  ['extensions', ({ extensions }) => extensions],
  ['skills', ({ skills }) => skills],
  ['mcp', ({ mcp }) => mcp],
  ['inherit', ({ without }) => without],
  ['permissions', ({ permissions }) => permissions],
];

/** What may be otherwise, and is told: an update, another one of the candidates, a variable more. */
const NOTED: typeof REFUSED = [
  ['version', ({ client }) => client.version],
  ['model', ({ model }) => model],
  ['thinking', ({ thinking }) => thinking],
  ['env', ({ env }) => env],
  ['argv', ({ argv }) => argv],
];

export interface Differences {
  refused: string[];
  noted: string[];
}

/** The fields in which a launch that goes on in a session differs from the one before it. */
export function differencesOf(before: LaunchFacts, now: LaunchFacts): Differences {
  const differing = (fields: typeof REFUSED): string[] =>
    fields.filter(([, of]) => JSON.stringify(of(before)) !== JSON.stringify(of(now))).map(([field]) => field);
  const refused = differing(REFUSED);
  // What else is on its command line follows from the rest.
  const noted = differing(NOTED);
  return { refused, noted: noted.length + refused.length > 1 ? noted.filter((field) => field !== 'argv') : noted };
}
