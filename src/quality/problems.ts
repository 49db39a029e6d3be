import type { ErrorObject } from 'ajv';
import type { Problem } from '../../machines/protocol.ts';

/** More say nothing more. */
const MOST = 8;
const MAX_CHARS = 300;

/** What the validator says, for people and for the agent that is to put it right. Names and rules, no values. */
export function problemsOf(errors: readonly ErrorObject[], schema: object): Problem[] {
  // That a condition was not met is said beside what it asked for.
  const telling = errors.filter(({ keyword }) => keyword !== 'if');
  return (telling.length > 0 ? telling : errors).slice(0, MOST).map((error) => {
    const message = `${worded(error)}${conditionOf(error, schema)}`;
    return { path: pathOf(error), message: cut(message, MAX_CHARS) };
  });
}

/** Of the field that is too much: that itself. */
function pathOf({ instancePath, keyword, params }: ErrorObject): string {
  const extra: unknown =
    keyword === 'additionalProperties' ? params['additionalProperty'] : params['unevaluatedProperty'];
  const path =
    typeof extra === 'string' ? `${instancePath}/${extra.replaceAll('~', '~0').replaceAll('/', '~1')}` : instancePath;
  return cut(path, MAX_CHARS);
}

function worded({ keyword, message, params }: ErrorObject): string {
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'must not be there';
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`;
    case 'enum':
      return `must be one of ${cut(JSON.stringify(params['allowedValues']), 150)}`;
    default:
      return message ?? `breaks the rule "${keyword}"`;
  }
}

/** The condition under which a rule holds: `if` beside the `then` or `else` that it is in. */
function conditionOf({ schemaPath }: ErrorObject, schema: object): string {
  const branch = /^(#.*)\/(then|else)(?:\/|$)/.exec(schemaPath);
  if (branch === null) return '';
  const condition = valueAt(schema, `${branch[1] ?? ''}/if`);
  if (condition === undefined) return '';
  const met = branch[2] === 'then' ? 'because it meets' : 'because it does not meet';
  return `, ${met} the condition ${cut(JSON.stringify(condition), 150)}`;
}

function valueAt(schema: object, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, part) => {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
    }, schema);
}

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
