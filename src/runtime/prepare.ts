import { fromPromise } from 'xstate';
import type { Failure, PrepareInput, PrepareOutput, Rung } from '../../machines/protocol.ts';
import type { Capabilities } from '../agents/index.ts';
import { type RenderedStep, type ResolvedStep, type Scope, renderStep } from '../plan/index.ts';
import { newToken } from '../process/index.ts';
import { beginCheck } from './check.ts';
import { containerFor } from './contain.ts';
import type { Kit } from './kit.ts';
import { leaseFor } from './leasing.ts';
import type { Prepared } from './prepared.ts';
import { scopeFor } from './scope.ts';

/** For each level that there may be below: each ends those below it first, and then its own processes. */
const NESTED_GRACE_MS = 5_000;

/** The `prepare` port: finds the agent, fills in the templates, makes the token, takes the agent's session. */
export const prepare = (kit: Kit) =>
  fromPromise<PrepareOutput, PrepareInput>(async ({ input, signal }) => {
    const step = kit.step(input.step);
    const found = await kit.registry.resolve(step.agent, step.run === null ? 'task' : 'run');
    if (found.type !== 'agent') {
      return refused(kit, { code: found.type === 'not-found' ? found.reason : 'spawn-failed', message: found.message });
    }
    const { agent } = found;
    const filled = fillIn(kit, step);
    if (filled.type === 'failed') return refused(kit, filled.failure);
    const { texts } = filled;
    // A command is no client: nothing is looked up for it, or waited for.
    const version = step.run === null ? await kit.versions.of(agent) : null;
    const token = newToken();
    const leased = await leaseFor(kit, input, { agent, texts, token });
    if (leased.type === 'refused') return refused(kit, leased.failure);
    const giveBack = (): void => kit.leases.release(step.id, input.n);
    const contained = await containerFor(step, token);
    if (contained.type === 'refused') {
      giveBack();
      return refused(kit, contained.failure);
    }
    const blind = await beginCheck(kit, step, input.session !== null);
    if (blind !== null) {
      giveBack();
      return refused(kit, blind);
    }
    // The step has settled meanwhile, or does before it hears of this.
    if (signal.aborted || kit.table.isShut) giveBack();
    else signal.addEventListener('abort', giveBack);
    kit.prepared.set(step.id, { agent, version, step, texts, token, container: contained.container });
    const { capabilities } = agent.adapter;
    const ladder = ladderFor(kit, agent);
    return { type: 'ready', at: kit.now(), token, ladder, ...asked(capabilities), lease: leased.lease };
  });

/** What of its agent the machines have to know. */
const asked = ({ resume, steerLive, followUp, mailbox }: Capabilities) => ({
  resumes: resume,
  listens: steerLive || followUp !== 'none' || mailbox === 'expected',
});

/** What the attempt may have started in its turn ends first: it has a record to finish, and children of its own. */
function ladderFor({ nest }: Kit, { settings, adapter }: Prepared['agent']): Rung[] {
  const own = settings.stop ?? adapter.stopLadder;
  const below = nest.limits.depth - nest.depth;
  return below > 0 ? [{ do: 'stop-nested', graceMs: below * NESTED_GRACE_MS }, ...own] : [...own];
}

const refused = (kit: Kit, failure: Failure): PrepareOutput => ({ type: 'refused', at: kit.now(), failure });

type Texts = { type: 'ok'; texts: RenderedStep } | { type: 'failed'; failure: Failure };

/** The scope reads outputs of other steps, some of them from files: only steps with templates pay for it. */
function fillIn(kit: Kit, step: ResolvedStep): Texts {
  if (!step.template || step.needs.length === 0) return rendered(step, { steps: {} });
  const scope = scopeFor(kit, step);
  return scope.type === 'failed' ? scope : rendered(step, scope.scope);
}

function rendered(step: ResolvedStep, scope: Scope): Texts {
  const rendering = renderStep(step, scope);
  if (rendering.type === 'ok') return { type: 'ok', texts: rendering.step };
  const message = `step ${step.id}, ${rendering.field}: ${rendering.message}`;
  return { type: 'failed', failure: { code: 'template', message } };
}
