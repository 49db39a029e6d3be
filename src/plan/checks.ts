import { adapterHonours } from '../agents/index.ts';
import { COMMAND, type DefinitionOptions, checkDefinition } from './definitions.ts';
import { asRecord, valueAt } from './path.ts';
import { didYouMean } from './suggest.ts';
import type { Finding, Path } from './types.ts';
import type { PlanView, StepView } from './view.ts';

/** Names that may be used, besides those a plan defines. */
export interface Known {
  agents: readonly string[];
  /** Those that are defined outside the plan, and can be used. */
  definitions: Readonly<Record<string, { adapter: string; mode?: string }>>;
  /** Those that are defined outside the plan and cannot be used, with what is wrong. */
  broken: Readonly<Record<string, string>>;
}

/** Names that mean the own prototype of an object in JavaScript; zod drops them without a word. */
export function checkNames(root: unknown, containers: readonly Path[]): Finding[] {
  return containers
    .filter((path) => Object.hasOwn(asRecord(valueAt(root, path)) ?? {}, '__proto__'))
    .map((path) => ({
      path: [...path, '__proto__'],
      at: 'key',
      code: 'bad-value',
      message: 'the name cannot be used',
    }));
}

export function checkIds(steps: readonly StepView[]): Finding[] {
  const seen = new Map<string, StepView>();
  return steps.flatMap((step): Finding[] => {
    if (step.id === null) return [];
    const folded = step.id.toLowerCase();
    const first = seen.get(folded);
    if (first === undefined) {
      seen.set(folded, step);
      return [];
    }
    const message =
      first.id === step.id
        ? `"${step.id}" is the id of steps[${first.index}] already: each step has its own`
        : `"${step.id}" differs only in case from "${first.id}", the id of steps[${first.index}]: some file systems take them for one`;
    return [{ path: ['steps', step.index, 'id'], code: 'duplicate-id', message }];
  });
}

/** The agents that the plan itself defines. */
export function checkDefinitions(root: unknown, view: PlanView, options: DefinitionOptions): Finding[] {
  return view.agents.flatMap(({ name }) => checkDefinition(root, name, options));
}

/** Who does each step, and what: a task for an agent, or a command. */
export function checkWork(view: PlanView, known: Known): Finding[] {
  const own = view.agents.map(({ name }) => name);
  const names = [...new Set([...known.agents, ...Object.keys(known.definitions), ...own])];
  const unknown = (path: Finding['path'], name: string): Finding[] => {
    const fault = own.includes(name) ? undefined : known.broken[name];
    if (fault !== undefined) {
      const message = `the definition of the agent "${name}" is broken: ${fault}`;
      return [{ path, code: 'broken-agent', message }];
    }
    if (names.includes(name)) return [];
    const message = `there is no agent "${name}".${didYouMean(name, names)} Known: ${list(names)}.`;
    return [{ path, code: 'unknown-agent', message }];
  };
  const fallback = view.defaults.agent === null ? [] : unknown(['defaults', 'agent'], view.defaults.agent);
  return [
    ...fallback,
    ...view.steps.flatMap((step) => [
      ...(step.agent === null ? [] : unknown(['steps', step.index, 'agent'], step.agent)),
      ...checkStep(step, view.defaults.agent),
      ...checkModel(step, view, known),
    ]),
  ];
}

/** A model that a step names for an agent that cannot be told one. The one of `defaults` is for those that can. */
function checkModel(step: StepView, view: PlanView, known: Known): Finding[] {
  const name = step.agent ?? view.defaults.agent;
  if (!step.hasModel || step.has.run || name === null) return [];
  if (takesModel(name, view.agents, known)) return [];
  const message = `the agent "${name}" cannot be told a model: leave it out`;
  return [{ path: ['steps', step.index, 'model'], code: 'not-honoured', message }];
}

/** Whether an agent can be told its model; of one that nobody knows that is not the question. */
function takesModel(name: string, own: PlanView['agents'], { definitions }: Pick<Known, 'definitions'>): boolean {
  const adapter = own.find((agent) => agent.name === name)?.adapter ?? definitions[name]?.adapter ?? name;
  return adapterHonours({ adapter })?.model ?? true;
}

function checkStep(step: StepView, fallback: string | null): Finding[] {
  const path = ['steps', step.index];
  const { task, run, unsupported } = step.has;
  if (task && run) {
    const message = 'a step has a task (for an agent) or a run (a command), not both: make it two steps';
    return [{ path: [...path, 'run'], code: 'task-and-run', message }];
  }
  if (!task && !run) {
    if (unsupported) return [];
    return [
      { path, code: 'no-task', message: 'has nothing to do: give it a task (for an agent) or a run (a command)' },
    ];
  }
  return run ? checkCommand(step) : checkTask(step, fallback);
}

function checkCommand(step: StepView): Finding[] {
  const findings: Finding[] = [];
  if (step.agent !== null && step.agent !== COMMAND) {
    const message = 'a run step is a command and has no agent: leave it out, or give the agent a task';
    findings.push({ path: ['steps', step.index, 'agent'], code: 'bad-value', message });
  }
  if (step.hasModel) {
    const message = 'a run step is a command and has no model: leave it out';
    findings.push({ path: ['steps', step.index, 'model'], code: 'bad-value', message });
  }
  if (step.waitsForModel) {
    const message = 'a run step is a command and has no model to wait for: leave it out';
    findings.push({ path: ['steps', step.index, 'retry', 'model'], code: 'bad-value', message });
  }
  return findings;
}

function checkTask(step: StepView, fallback: string | null): Finding[] {
  const agent = step.agent ?? fallback;
  const path = ['steps', step.index, ...(step.agent === null ? [] : ['agent'])];
  if (agent === null) {
    const message = 'has a task and nobody to do it: name an agent here, or in defaults.agent';
    return [{ path, code: 'missing-field', message }];
  }
  if (agent === COMMAND) {
    const message = `the agent "${COMMAND}" takes no task: write the command as run, or define an agent with "adapter: ${COMMAND}" and a command`;
    return [{ path, code: 'bad-value', message }];
  }
  return [];
}

/** A proof that no attempt of the step could ever have. */
export function checkAttempts({ defaults, steps }: PlanView): Finding[] {
  if (neverProven(defaults.proof, defaults.contain)) return [clash(['defaults', 'contain'])];
  return steps
    .filter((step) => neverProven(step.proof ?? defaults.proof, step.contain ?? defaults.contain))
    .map((step) => clash(['steps', step.index, step.contain === null ? 'proof' : 'contain']));
}

function neverProven(proof: string | null, contain: string | null): boolean {
  return proof === 'contained' && contain === 'none';
}

function clash(path: Path): Finding {
  const message = 'proof: contained needs a container, and contain: none forbids it: every attempt would end unproven';
  return { path, code: 'bad-value', message };
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}
