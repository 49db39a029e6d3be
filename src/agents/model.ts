/** The parts of `provider/id:thinking`. */
export interface ModelName {
  provider: string | null;
  id: string;
  /** One of `LEVELS`; what else stands after a colon belongs to the id. */
  thinking: string | null;
}

const LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

export function readModelName(name: string): ModelName {
  const colon = name.lastIndexOf(':');
  const level = colon < 0 ? '' : name.slice(colon + 1);
  const thinking = LEVELS.includes(level) ? level : null;
  const rest = thinking === null ? name : name.slice(0, colon);
  const slash = rest.indexOf('/');
  return slash < 0
    ? { provider: null, id: rest, thinking }
    : { provider: rest.slice(0, slash), id: rest.slice(slash + 1), thinking };
}
