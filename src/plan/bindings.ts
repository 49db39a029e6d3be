import { didYouMean } from './suggest.ts';
import { ancestry, type Graph } from './graph.ts';
import type { Reference } from './reference.ts';
import { compileTemplate } from './templates.ts';
import type { Finding, Path } from './types.ts';
import type { PlanView, StepView } from './view.ts';

/** The texts of a step that are templates, and where they are. */
function templatesOf(step: StepView): { path: Path; text: string }[] {
  const path = ['steps', step.index];
  const run = Array.isArray(step.run) ? step.run : [];
  return [
    ...(step.task === null ? [] : [{ path: [...path, 'task'], text: step.task }]),
    ...run.flatMap((text, index) => (text === null ? [] : [{ path: [...path, 'run', index], text }])),
    ...step.env.map(({ name, value }) => ({ path: [...path, 'env', name], text: value })),
  ];
}

/** Every template compiles, and reads only from steps that have completed before. Without a graph the last is skipped. */
export function checkTemplates(view: PlanView, graph: Graph, acyclic: boolean): Finding[] {
  let comesBefore: ((ancestor: number, step: number) => boolean) | null = null;
  const findings = view.defaults.env.flatMap(({ name, value }): Finding[] => {
    if (!value.includes('{{') && !value.includes('{%')) return [];
    const message = 'the env of defaults takes no templates: move it to the steps that need it';
    return [{ path: ['defaults', 'env', name], code: 'bad-template', message }];
  });
  for (const step of view.steps) {
    if (!step.template) continue;
    if (typeof step.run === 'string' && step.run.includes('{{')) findings.push(shellTemplate(step.index));
    for (const { path, text } of templatesOf(step)) {
      const compiled = compileTemplate(text);
      if (compiled.type === 'invalid') {
        findings.push({ path, code: 'bad-template', message: compiled.message });
        continue;
      }
      for (const reference of compiled.references) {
        const before = (ancestor: number): boolean => {
          comesBefore ??= acyclic ? ancestry(graph) : () => true;
          return comesBefore(ancestor, step.index);
        };
        findings.push(...checkReference(reference, step, graph, before).map((finding) => ({ ...finding, path })));
      }
    }
  }
  return findings;
}

function shellTemplate(index: number): Finding {
  const message =
    'a command line for the shell takes no templates: put the value in env and use "$NAME", or write a list. ' +
    'If the braces are meant as they are, set "template: false".';
  return { path: ['steps', index, 'run'], code: 'shell-template', message };
}

function checkReference(
  { step: id, field, text }: Reference,
  step: StepView,
  graph: Graph,
  before: (ancestor: number) => boolean,
): Omit<Finding, 'path'>[] {
  const target = graph.byId.get(id);
  if (target === undefined) {
    return [
      { code: 'unknown-step', message: `${text}: there is no step "${id}".${didYouMean(id, graph.byId.keys())}` },
    ];
  }
  if (field === 'outputs') {
    return [{ code: 'bad-template', message: `${text}: "${id}" is a single step, it has an output` }];
  }
  if (target === step.index)
    return [{ code: 'not-an-ancestor', message: `${text}: a step cannot read its own output` }];
  if (before(target)) return [];
  const message = `${text}: "${id}" need not have ended when this step starts: add it to the needs of this step`;
  return [{ code: 'not-an-ancestor', message }];
}
