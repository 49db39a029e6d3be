import type { Failure } from '../../machines/protocol.ts';
import type { ResolvedStep } from '../plan/index.ts';
import { type Container, type Containment, type Opened, probeContainment } from '../process/index.ts';

export type Contained = { type: 'ok'; container: Container | null } | { type: 'refused'; failure: Failure };

/**
 * What an attempt is put into, by the plan. `auto` takes a control group where one is delegated to this user, and
 * nothing otherwise, unless the proof is to be `contained`: then what there is, or a refusal that says why.
 * As root everything is writable and nothing is delegated: a control group is used when it is asked for.
 */
export async function containerFor(step: ResolvedStep, name: string): Promise<Contained> {
  const { contain, proof } = step;
  if (contain === 'none') return { type: 'ok', container: null };
  const must = contain !== 'auto' || proof === 'contained';
  if (!must && process.getuid?.() === 0) return { type: 'ok', container: null };
  const containment = await probeContainment();
  const opened = open(containment, step, name);
  if (opened.type === 'opened') return { type: 'ok', container: opened.container };
  if (!must) return { type: 'ok', container: null };
  return { type: 'refused', failure: { code: 'not-contained', message: why(containment, step, opened.code) } };
}

function open(containment: Containment, { contain, proof }: ResolvedStep, name: string): Opened {
  switch (contain) {
    case 'cgroup':
      return containment.openCgroup(name);
    case 'pidns':
      return containment.openPidns();
    case 'auto':
    case 'none': {
      const cgroup = containment.openCgroup(name);
      return cgroup.type === 'opened' || proof !== 'contained' ? cgroup : containment.openPidns();
    }
  }
}

function why({ cgroup, pidns }: Containment, { id, contain }: ResolvedStep, code: string): string {
  const said = (means: Containment['cgroup'] | Containment['pidns']): string =>
    means.type === 'unavailable' ? means.detail : code;
  const details =
    contain === 'cgroup' ? said(cgroup) : contain === 'pidns' ? said(pidns) : `${said(cgroup)}; ${said(pidns)}`;
  return `step ${id} is to be contained and cannot be here: ${details}; set "contain: none" and "proof: searched" to run it without`;
}
