import { type Fields, fields, list, name, string } from './json.ts';

/** What a client says that it is and has; what it does not tell is absent. */
export interface ClientFacts {
  version?: string;
  tools?: string[];
  skills?: string[];
  extensions?: string[];
  mcp?: { name: string; status: string }[];
}

/** More names than anybody reads are kept out of the records. */
const MOST_NAMES = 500;

/** The names in a list of names, or of things with a name. */
export function namesIn(value: unknown): string[] {
  return list(value)
    .slice(0, MOST_NAMES)
    .map((item) => name(string(item) || fields(item)['name']))
    .filter((text) => text !== '');
}

export function serversIn(value: unknown): { name: string; status: string }[] {
  return list(value)
    .slice(0, MOST_NAMES)
    .map((item: unknown): Fields => fields(item))
    .map((server) => ({ name: name(server['name']), status: name(server['status']) }));
}
