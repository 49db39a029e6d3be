import { resolve } from 'node:path';

/** Of the verbs that know agents. */
export interface ConfigOption {
  /** A config file that was named; false: none is looked for. */
  config?: string | false;
}

/** What the library is told: a file, or to look for one as a person expects it. */
export function configOf({ config }: ConfigOption): { config?: string } {
  if (config === false) return {};
  return { config: config === undefined ? 'search' : resolve(config) };
}
