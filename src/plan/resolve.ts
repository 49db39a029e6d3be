import { resolve } from 'node:path';
import type { AgentSettings } from '../agents/index.ts';
import type { ProofLevel, StopRung } from '../../machines/protocol.ts';
import { RECOVER_AFTER } from '../../machines/policy/defaults.ts';
import { type Attempts, attemptsOf } from './attempts.ts';
import { COMMAND } from './checks.ts';
import { limitOf, millisecondsOf } from './duration.ts';
import type { PlanInput } from './schema.ts';
import type { NestedLimits, ResolvedPlan, ResolvedStep } from './types.ts';

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_GRACE_MS = 3_000;
/** What a plan that does not say allows below its run. */
const DEFAULT_NESTED: NestedLimits = { depth: 3, total: 10 };

type StepInput = PlanInput['steps'][number];
type AgentInput = NonNullable<PlanInput['agents']>[string];

/** What a plan that does not say gets. */
export interface Fallbacks {
  /** The folder that paths are relative to. */
  cwd: string;
  name: string;
  proof: ProofLevel;
}

/** Fills in the defaults. Only for a plan in which no mistake was found. */
export function fillIn(input: PlanInput, { cwd: base, name, proof }: Fallbacks): ResolvedPlan {
  const cwd = resolve(base, input.cwd ?? '.');
  const position = new Map(input.steps.map(({ id }, index) => [id, index]));
  return {
    version: 1,
    name: input.name ?? name,
    cwd,
    limits: {
      concurrency: input.limits?.concurrency ?? DEFAULT_CONCURRENCY,
      timeoutMs: limitOf(input.limits?.timeout),
      nested: nestedOf(input.limits?.nested),
    },
    labels: { ...input.labels },
    ...steeringOf(input.steering?.recover),
    agents: Object.fromEntries(Object.entries(input.agents ?? {}).map(([key, agent]) => [key, settings(key, agent)])),
    ...(input.defaults === undefined ? {} : { defaults: input.defaults }),
    steps: input.steps.map((step, index) => ({
      ...fillStep(step, input, cwd, needsOf(input.steps, index, position)),
      ...attemptsOf(step, input.defaults ?? {}, proof),
    })),
  };
}

function fillStep(step: StepInput, plan: PlanInput, cwd: string, needs: string[]): Omit<ResolvedStep, keyof Attempts> {
  const isCommand = step.run !== undefined;
  const defaults = plan.defaults ?? {};
  return {
    id: step.id,
    agent: isCommand ? COMMAND : (step.agent ?? defaults.agent ?? COMMAND),
    model: isCommand ? [] : [step.model ?? defaults.model ?? []].flat(),
    needs,
    timeoutMs: limitOf(step.timeout ?? defaults.timeout),
    cwd: resolve(cwd, step.cwd ?? defaults.cwd ?? '.'),
    env: { ...defaults.env, ...step.env },
    task: step.task ?? null,
    template: step.template ?? true,
    run: typeof step.run === 'object' ? [...step.run] : (step.run ?? null),
    allowEmpty: step.output?.allowEmpty ?? isCommand,
  };
}

function nestedOf(given: NonNullable<PlanInput['limits']>['nested']): NestedLimits {
  const { depth, total } = DEFAULT_NESTED;
  return { depth: given?.depth ?? depth, total: given?.total ?? total };
}

function steeringOf(recover: string | number | boolean | undefined): Pick<ResolvedPlan, 'steering'> {
  if (recover === undefined || recover === false) return {};
  return { steering: { recoverAfterMs: recover === true ? RECOVER_AFTER : millisecondsOf(recover) } };
}

function needsOf(steps: StepInput[], index: number, position: ReadonlyMap<string, number>): string[] {
  const given = steps[index]?.needs;
  const before = steps[index - 1];
  if (given === undefined) return before === undefined ? [] : [before.id];
  return [...new Set(given)].toSorted((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0));
}

function settings(name: string, agent: AgentInput): AgentSettings {
  return {
    name,
    adapter: agent.adapter,
    ...(agent.command === undefined ? {} : { command: [...agent.command] }),
    ...(agent.mode === undefined ? {} : { mode: agent.mode }),
    ...(agent.env === undefined ? {} : { env: [...agent.env] }),
    ...(agent.args === undefined ? {} : { args: [...agent.args] }),
    ...(agent.task === undefined ? {} : { task: agent.task }),
    ...(agent.permissions === undefined ? {} : { permissions: { ...agent.permissions } }),
    ...(agent.stop === undefined ? {} : { stop: agent.stop.map(rung) }),
  };
}

function rung({ do: what, grace }: { do: StopRung['do']; grace?: string | number | undefined }): StopRung {
  return { do: what, graceMs: grace === undefined ? DEFAULT_GRACE_MS : millisecondsOf(grace) };
}
