import type { AgentAdapter, AgentUse } from './adapter.ts';
import type { Honours, Mode } from './honours.ts';
import { type AgentSettings, INHERITED } from './settings.ts';

/** Something a definition asks for that nobody would do. */
export interface Refusal {
  /** Keys from the top of the definition to what cannot be honoured. */
  path: readonly (string | number)[];
  /** One sentence for people, without the name of the agent. */
  message: string;
}

/** One thing that a definition asks of its adapter. */
interface Want {
  path: Refusal['path'];
  /** As it is written. */
  what: string;
  isHonoured: (honours: Honours) => boolean;
}

/** Everything in a definition that its adapter cannot honour, in the order of the fields; `all`: who else may. */
export function refusalsOf(
  settings: Omit<AgentSettings, 'name'>,
  adapter: AgentAdapter,
  all: readonly AgentAdapter[],
): Refusal[] {
  const mode = modeOf(settings, adapter);
  if (mode === null) return [{ path: ['mode'], message: noMode(settings.mode ?? '', adapter) }];
  return wantsOf(settings)
    .filter((want) => !want.isHonoured(mode.honours))
    .map((want) => ({ path: want.path, message: cannot(want, mode, adapter, all) }));
}

/** Whether the adapter can be used like this at all, whatever its definition asks for; null: it can. */
export function misuseOf(
  { command }: Pick<AgentSettings, 'command'>,
  adapter: AgentAdapter,
  use: AgentUse,
): Refusal | null {
  if (use === 'run') {
    if (adapter.modes[0].honours.task) return null;
    return { path: ['adapter'], message: `the ${adapter.id} adapter takes a task and runs no command` };
  }
  if (adapter.program !== null || (command ?? []).length > 0) return null;
  return { path: [], message: `the ${adapter.id} adapter needs a "command" to give the task to` };
}

/** The mode that is asked for, or the default; null where there is no such one. */
export function modeOf({ mode }: Pick<AgentSettings, 'mode'>, { modes }: AgentAdapter): Mode | null {
  if (mode === undefined) return modes[0];
  return modes.find(({ name }) => name === mode) ?? null;
}

function noMode(mode: string, { id, modes }: AgentAdapter): string {
  const names = modes.flatMap(({ name }) => name ?? []);
  return names.length === 0
    ? `the ${id} adapter has no modes`
    : `the ${id} adapter has no mode "${mode}"; there are: ${names.join(', ')}`;
}

function cannot({ what, isHonoured }: Want, mode: Mode, adapter: AgentAdapter, all: readonly AgentAdapter[]): string {
  const inMode = mode.name === null ? '' : ` in mode ${mode.name}`;
  const able = all.flatMap(({ id, modes }) => {
    const those = modes.filter(({ honours }) => isHonoured(honours));
    if (those.length === 0) return [];
    return those.length === modes.length ? [id] : those.map(({ name }) => `${id} (${name})`);
  });
  const advice = able.length === 0 ? 'no adapter can' : `these can: ${able.join(', ')}`;
  return `the ${adapter.id} adapter cannot honour "${what}"${inMode}: leave it out (${advice})`;
}

function wantsOf(settings: Omit<AgentSettings, 'name'>): Want[] {
  const { task, model, thinking, systemPrompt, tools, extensions, skills, mcp, inherit, permissions, session } =
    settings;
  const wants: Want[] = [];
  const want = (path: Refusal['path'], what: string, isHonoured: Want['isHonoured']): void => {
    wants.push({ path, what, isHonoured });
  };
  if (task !== undefined) want(['task'], `task: ${task}`, (can) => can.task);
  if (model !== undefined) want(['model'], 'model', (can) => can.model);
  if (thinking !== undefined) want(['thinking'], `thinking: ${thinking}`, (can) => can.thinking.includes(thinking));
  if (systemPrompt !== undefined) {
    const how = 'append' in systemPrompt ? 'append' : 'replace';
    want(['systemPrompt'], `systemPrompt: ${how}`, (can) => can.systemPrompt.includes(how));
  }
  if (tools?.only !== undefined) want(['tools'], 'tools', (can) => can.tools.includes('only'));
  if (tools?.required !== undefined) {
    want(['tools', 'required'], 'tools.required', (can) => can.tools.includes('required'));
  }
  if (extensions !== undefined) want(['extensions'], 'extensions', (can) => can.extensions);
  if (skills !== undefined) want(['skills'], 'skills', (can) => can.skills);
  for (const [name, { type }] of Object.entries(mcp ?? {})) {
    want(['mcp', name], `mcp (${type})`, (can) => can.mcp.includes(type));
  }
  for (const what of INHERITED) {
    if (inherit?.[what] === false)
      want(['inherit', what], `inherit.${what}: false`, (can) => can.inherit.includes(what));
  }
  for (const [tool, answer] of Object.entries(permissions ?? {})) {
    const of = tool === '*' ? 'others' : 'each';
    want(['permissions', tool], `${tool}: ${answer}`, (can) => can.permissions[of].includes(answer));
  }
  if (session !== undefined && session.type !== 'fresh') {
    const { type } = session;
    want(['session'], `session: ${type}`, (can) => can.session.includes(type));
  }
  return wants;
}
