/** How the parts of a machine's config are called in a picture: short, and the same in every format. */

interface Composed {
  name: string;
  guards: readonly unknown[];
}

function isComposed(value: unknown): value is Composed {
  return typeof value === 'function' && Array.isArray((value as unknown as { guards?: unknown }).guards);
}

/** Type of a `{ type, params }` object, or of a built-in action function (`xstate.assign`). */
function typeOf(value: unknown): string | null {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return null;
  const type = (value as { type?: unknown }).type;
  return typeof type === 'string' ? type : null;
}

/**
 * A guard as an expression: `isLate`, `!isLate`, `isLate && (isForced || isLost)`.
 * An inline function shows as its own name, or `inline`.
 */
export function guardName(guard: unknown, inner = false): string {
  if (typeof guard === 'string') return guard;
  if (!isComposed(guard)) return typeOf(guard) ?? ((guard as { name?: string }).name || 'inline');
  const parts = guard.guards.map((each) => guardName(each, true));
  switch (guard.name) {
    case 'not':
      return `!${parts.join('')}`;
    case 'and':
    case 'or': {
      const text = parts.join(guard.name === 'and' ? ' && ' : ' || ');
      return inner && parts.length > 1 ? `(${text})` : text;
    }
    default:
      return `${guard.name}(${parts.join(', ')})`;
  }
}

/** An action by its name. Built-ins that stand in the config themselves show as `assign`, `raise`, ... */
export function actionName(action: unknown): string {
  if (typeof action === 'string') return action;
  const type = typeOf(action);
  if (type !== null) return type.replace(/^xstate\./, '');
  return (action as { name?: string }).name || 'inline';
}

/** Names of a config's action list, which may be absent, one, or many. */
export function actionNames(actions: unknown): string[] {
  if (actions === undefined || actions === null) return [];
  return (Array.isArray(actions) ? (actions as unknown[]) : [actions]).map(actionName);
}

/** `500` is 500 ms; a named delay keeps its name. */
export function delayName(delay: unknown): string {
  return typeof delay === 'number' ? `${delay} ms` : String(delay);
}

export interface Invoked {
  /** The config's id, or XState's own: `0.run.running`. */
  id: string;
  src: string;
}

/** An invoked actor by its id, or by its source where the config gives it none. */
export function invokeName({ id, src }: Invoked): string {
  return /^\d+\./.test(id) ? src : id;
}

/** An event as people read it. `invokes` are those of the state that listens. */
export function eventName(type: string, invokes: readonly Invoked[]): string {
  if (type === '') return 'always';
  if (type.startsWith('xstate.done.state.')) return 'done';
  for (const [prefix, word] of ACTOR_EVENTS) {
    if (!type.startsWith(prefix)) continue;
    const id = type.slice(prefix.length);
    const invoked = invokes.find((each) => each.id === id);
    return `${word}: ${invoked === undefined ? id : invokeName(invoked)}`;
  }
  return type;
}

const ACTOR_EVENTS: readonly (readonly [string, string])[] = [
  ['xstate.done.actor.', 'done'],
  ['xstate.error.actor.', 'error'],
  ['xstate.snapshot.', 'snapshot'],
];
