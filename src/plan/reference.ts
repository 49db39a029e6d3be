/** What an expression reads: `steps.<id>.output`, or something inside it. */
export interface Reference {
  step: string;
  field: 'output' | 'outputs';
  /** Normal form, the same for all ways to write it: `steps.scout.output`, `steps['a.b'].output`. */
  text: string;
}

export type ReadReference = { type: 'ok'; reference: Reference } | { type: 'bad'; message: string };

/**
 * Understands the segments of a variable as liquidjs lists them: texts, numbers, and objects for what is in brackets
 * and known only when it runs. Those are listed as variables of their own too.
 */
export function readReference(segments: readonly unknown[]): ReadReference {
  const [root, step, field] = segments;
  if (root !== 'steps') {
    const name = typeof root === 'string' ? `"${root.slice(0, 100)}"` : 'such a name';
    return bad(`there is no ${name} in templates: write steps.<id>.output, or put a text in quotes`);
  }
  if (step === undefined) return bad('name a step: steps.<id>.output');
  if (typeof step === 'number') return bad(`steps have no position: write the id, steps.<id>.output`);
  if (typeof step !== 'string') return bad('name the step itself, steps.<id>.output: it cannot be computed');
  if (field !== 'output' && field !== 'outputs') {
    const dotted = typeof field === 'string' ? `${step}.${field}` : null;
    const hint = dotted === null ? '' : `; for a step "${dotted}" write ${textOf(dotted, 'output')}`;
    return bad(`of a step there is its output: write ${textOf(step, 'output')}${hint}`);
  }
  return { type: 'ok', reference: { step, field, text: textOf(step, field) } };
}

function textOf(step: string, field: Reference['field']): string {
  return step.includes('.') ? `steps['${step}'].${field}` : `steps.${step}.${field}`;
}

function bad(message: string): ReadReference {
  return { type: 'bad', message };
}
