import type * as z from 'zod';
import { isLater, type Place } from './later.ts';
import { asRecord, valueAt } from './path.ts';
import { knownFields } from './schema.ts';
import { didYouMean } from './suggest.ts';
import type { Finding, Path, PlanErrorCode } from './types.ts';

type Issue = z.core.$ZodIssue;

/** What zod found, in the words of this house. `value` is what it looked at. */
export function findingsOf(issues: readonly Issue[], value: unknown): Finding[] {
  return issues.flatMap((issue) => findings(issue, [], value));
}

function findings(issue: Issue, base: Path, root: unknown): Finding[] {
  const path = [...base, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(path, key));
  if (issue.code === 'invalid_key') {
    const reason = issue.issues[0]?.message ?? 'is not a usable name';
    return [{ path, at: 'key', code: 'bad-value', message: `the name ${reason}` }];
  }
  if (valueAt(root, path) === undefined) return [missing(path)];
  if (issue.code === 'invalid_union') {
    // A branch that got as far as inside the value is the one that was meant.
    const meant = issue.errors.find((branch) => branch.some((inner) => inner.path.length > 0));
    if (meant !== undefined) return meant.flatMap((inner) => findings(inner, path, root));
    return [wrongType(path, issue.message, valueAt(root, path))];
  }
  if (issue.code === 'invalid_type') {
    const expected = `must be ${names[issue.expected] ?? issue.expected}`;
    const message = issue.message.startsWith('Invalid input') ? expected : issue.message;
    return [wrongType(path, message, valueAt(root, path))];
  }
  return [{ path, code: codeOf(issue, path), message: issue.message }];
}

const names: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of names to values',
  record: 'a mapping of names to values',
};

function wrongType(path: Path, message: string, value: unknown): Finding {
  if (path.length === 1 && path[0] === 'steps' && value === null) {
    return { path, code: 'empty-plan', message: 'is empty: a plan needs at least one step' };
  }
  if (path.length === 0 && value === null) {
    return { path, code: 'empty-plan', message: 'the plan is empty: it needs a version and steps' };
  }
  const scalar = typeof value === 'number' || typeof value === 'boolean';
  const advice = scalar && /must be text/.test(message) ? `: put it in quotes, "${String(value)}"` : '';
  return { path, code: 'wrong-type', message: `${message}, not ${describe(value)}${advice}` };
}

function describe(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (asRecord(value) !== null) return 'a mapping';
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? 'text' : `a ${typeof value}`;
}

function missing(path: Path): Finding {
  const name = String(path.at(-1) ?? 'plan');
  const advice: Record<string, string> = {
    version: 'is missing: write version: 1',
    steps: 'is missing: a plan needs at least one step',
    id: 'is missing: every step has an id of its own',
  };
  return { path, code: 'missing-field', message: (Object.hasOwn(advice, name) && advice[name]) || 'is missing' };
}

function codeOf(issue: Issue, path: Path): PlanErrorCode {
  if (issue.code === 'custom') {
    const code: unknown = issue.params?.['code'];
    return code === 'bad-id' ? code : 'bad-value';
  }
  if (path.length === 1 && path[0] === 'steps') return 'empty-plan';
  return 'bad-value';
}

function unknownField(parent: Path, key: string): Finding {
  const path = [...parent, key];
  const place = placeOf(parent);
  if (place !== null && isLater(place, key)) {
    const message = 'is not supported by this version yet: leave it out, or use a newer coxswain';
    return { path, at: 'key', code: 'unsupported-field', message };
  }
  return { path, at: 'key', code: 'unknown-field', message: `is not a field that is known here.${advise(place, key)}` };
}

function advise(place: Place | null, key: string): string {
  if (place === null) return '';
  const right = (elsewhere[place] ?? []).filter(([there]) => knownFields[there].includes(key));
  if (right.length > 0) return ` It goes into ${right.map(([, name]) => name).join(', or ')}.`;
  const known = knownFields[place];
  return didYouMean(key, known) || ` Known here: ${known.join(', ')}.`;
}

/** Where a field that is misplaced at a place may have been meant to be. */
const elsewhere: Partial<Record<Place, [Place, string][]>> = {
  plan: [
    ['limits', 'limits'],
    ['defaults', 'defaults'],
    ['step', 'a step'],
  ],
  limits: [['attemptLimits', 'the limits of a step, or of defaults']],
  defaults: [
    ['attemptLimits', 'limits'],
    ['retry', 'retry'],
  ],
  step: [
    ['attemptLimits', 'limits'],
    ['retry', 'retry'],
  ],
  attemptLimits: [['step', 'the step, beside its limits']],
};

function placeOf(path: Path): Place | null {
  const [first, second] = path;
  if (path.length === 0) return 'plan';
  if (path.length === 1 && (first === 'limits' || first === 'steering')) return first;
  if (path.length === 2 && first === 'limits' && second === 'nested') return second;
  if (first === 'agents') return insideAgent(path.slice(2));
  if (first === 'defaults') return path.length === 1 ? first : insideStep(path.slice(1));
  if (first === 'steps' && second !== undefined) return path.length === 2 ? 'step' : insideStep(path.slice(2));
  return null;
}

function insideAgent([field, ...rest]: Path): Place | null {
  if (field === undefined) return 'agent';
  if (field === 'systemPrompt' || field === 'inherit') return field;
  if (field === 'tools') return 'toolList';
  return rest.length === 0 ? null : field === 'stop' ? 'stop' : field === 'mcp' ? 'mcpServer' : null;
}

function insideStep(path: Path): Place | null {
  return inStep[path.filter((part) => typeof part === 'string').join('.')] ?? null;
}

const inStep: Record<string, Place> = {
  output: 'output',
  limits: 'attemptLimits',
  'limits.stall': 'stall',
  retry: 'retry',
  'retry.backoff': 'backoff',
  'retry.on': 'rule',
};
