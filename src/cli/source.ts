import type { PlanSource } from '../index.ts';

/** What the command line says about what to run. */
export interface Wanted {
  /** The plan file, or with `agent` the task. */
  what?: string | undefined;
  /** What stood after `--`. */
  command?: string[] | null;
  agent?: string;
  model?: string;
  timeout?: string;
  cwd?: string;
}

export type Chosen = { type: 'ok'; source: PlanSource } | { type: 'usage'; message: string };

const WAYS = 'give one of: a plan file, --agent <name> "task", or -- and a command';

/** Exactly one of the three ways to say what to run; anything else is a mistake. */
export function choose(wanted: Wanted): Chosen {
  const { what, command = null, agent, model, timeout } = wanted;
  if (command !== null) {
    if (what !== undefined || agent !== undefined) return usage(`there is more than one thing to run: ${WAYS}`);
    if (command.length === 0) return usage('there is no command after --');
    if (model !== undefined) return usage('--model is for agents: a command has none');
    return { type: 'ok', source: { command, ...(timeout === undefined ? {} : { timeout }) } };
  }
  if (agent !== undefined) {
    if (what === undefined)
      return usage(`there is no task for ${agent}: write it after the agent, or "-" to read it from standard input`);
    const limits = { ...(model === undefined ? {} : { model }), ...(timeout === undefined ? {} : { timeout }) };
    return { type: 'ok', source: { task: { agent, task: what, ...limits } } };
  }
  if (what === undefined) return usage(`there is nothing to run: ${WAYS}`);
  const foreign = (['model', 'timeout', 'cwd'] as const).find((name) => wanted[name] !== undefined);
  if (foreign !== undefined) return usage(`--${foreign} does not go with a plan file: the plan says it itself`);
  return { type: 'ok', source: { file: what } };
}

function usage(message: string): Chosen {
  return { type: 'usage', message };
}
