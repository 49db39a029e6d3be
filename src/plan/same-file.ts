import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Graph, ancestry } from './graph.ts';
import type { Finding } from './types.ts';
import type { PlanView, StepView } from './view.ts';

interface Place {
  step: StepView;
  path: Finding['path'];
  name: string;
}

/**
 * Two steps that may run side by side and write the same file, also by another name of it: which of them it is from would be
 * a matter of luck. Only for a graph without cycles.
 */
export function checkSameFile(view: PlanView, graph: Graph, base: string): Finding[] {
  const cwd = resolve(base, view.cwd ?? '.');
  const places = new Map<string, Place[]>();
  for (const step of view.steps) {
    for (const { path, name } of step.output?.files ?? []) {
      const file = realName(resolve(cwd, step.cwd ?? view.defaults.cwd ?? '.', name));
      const place = { step, name, path: ['steps', step.index, 'output', ...path] };
      places.set(file, [...(places.get(file) ?? []), place]);
    }
  }
  const shared = [...places.values()].filter((all) => all.length > 1);
  if (shared.length === 0) return [];
  const before = ancestry(graph);
  return shared.flatMap((all) => clashes(all, before));
}

function clashes(all: readonly Place[], before: (ancestor: number, step: number) => boolean): Finding[] {
  return all.flatMap(({ step, path, name }, at): Finding[] => {
    const other = all.slice(0, at).find((one) => one.step !== step && !before(one.step.index, step.index));
    if (other === undefined || before(step.index, other.step.index)) return [];
    const message = `${name} is what "${other.step.id ?? ''}" writes too, and the two may run side by side: name another file, or let one need the other`;
    return [{ path, code: 'bad-value', message }];
  });
}

/** By links as well, as far as its folder is there. */
function realName(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
