import { resolve } from 'node:path';
import { type AgentSettings, adapterHonours } from '../agents/index.ts';
import type { ProofLevel } from '../../machines/protocol.ts';
import { RECOVER_AFTER } from '../../machines/policy/defaults.ts';
import { settingsOf } from './agentSettings.ts';
import type { Schema } from '../quality/index.ts';
import { type Attempts, attemptsOf } from './attempts.ts';
import { COMMAND } from './definitions.ts';
import { limitOf, millisecondsOf } from './duration.ts';
import type { PlanInput } from './schema.ts';
import type { NestedLimits, ResolvedOutput, ResolvedPlan, ResolvedStep } from './types.ts';

const DEFAULT_CONCURRENCY = 4;
/** What a plan that does not say allows below its run. */
const DEFAULT_NESTED: NestedLimits = { depth: 3, total: 10 };

type StepInput = PlanInput['steps'][number];

/** What a plan that does not say gets. */
export interface Fallbacks {
  /** The folder that paths are relative to. */
  cwd: string;
  name: string;
  proof: ProofLevel;
  /** Agents that are defined outside the plan. */
  definitions: Readonly<Record<string, AgentSettings>>;
  /** Of outputs, by the index of their step. */
  schemas: ReadonlyMap<number, Schema>;
}

/** What a step gets from its plan. */
interface Around extends Pick<PlanInput, 'defaults'> {
  cwd: string;
  agents: Readonly<Record<string, AgentSettings>>;
}

/** Fills in the defaults. Only for a plan in which no mistake was found. */
export function fillIn(input: PlanInput, { cwd: base, name, proof, definitions, schemas }: Fallbacks): ResolvedPlan {
  const cwd = resolve(base, input.cwd ?? '.');
  const own = Object.entries(input.agents ?? {}).map(([key, agent]) => [key, settingsOf(key, agent, base)] as const);
  const agents = { ...definitions, ...Object.fromEntries(own) };
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
    agents,
    ...(input.defaults === undefined ? {} : { defaults: input.defaults }),
    steps: input.steps.map((step, index) => ({
      ...fillStep(step, { ...input, cwd, agents }, needsOf(input.steps, index, position)),
      ...attemptsOf(step, input.defaults ?? {}, proof),
      output: outputOf(step, schemas.get(index) ?? null),
    })),
  };
}

function fillStep(step: StepInput, plan: Around, needs: string[]): Omit<ResolvedStep, keyof Attempts | 'output'> {
  const isCommand = step.run !== undefined;
  const defaults = plan.defaults ?? {};
  const agent = isCommand ? COMMAND : (step.agent ?? defaults.agent ?? COMMAND);
  return {
    id: step.id,
    agent,
    model: isCommand ? [] : modelsOf(step, defaults, agent, plan.agents),
    needs,
    timeoutMs: limitOf(step.timeout ?? defaults.timeout),
    cwd: resolve(plan.cwd, step.cwd ?? defaults.cwd ?? '.'),
    env: { ...defaults.env, ...step.env },
    task: step.task ?? null,
    template: step.template ?? true,
    run: typeof step.run === 'object' ? [...step.run] : (step.run ?? null),
    allowEmpty: step.output?.allowEmpty ?? isCommand,
  };
}

/** Those of the step, of the agent, of the plan. What the plan says for all is not for an agent that takes none. */
function modelsOf(
  step: StepInput,
  defaults: NonNullable<PlanInput['defaults']>,
  name: string,
  agents: Readonly<Record<string, AgentSettings>>,
): string[] {
  const defined = agents[name] ?? { adapter: name };
  const takesOne = adapterHonours(defined)?.model ?? true;
  return [
    step.model ?? ('model' in defined ? defined.model : undefined) ?? (takesOne ? defaults.model : []) ?? [],
  ].flat();
}

const DEFAULT_REPAIR = 1;

function outputOf({ output, run }: StepInput, schema: Schema | null): ResolvedOutput | null {
  const { repair = DEFAULT_REPAIR, file = null, files = [], changes } = output ?? {};
  if (schema === null && file === null && files.length === 0 && changes !== 'required') return null;
  return {
    schema: schema === null ? null : { ...schema },
    repair: schema === null || run !== undefined ? 0 : repair,
    file,
    files: [...files],
    changes: changes === 'required',
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
