import { createRequire } from 'node:module';

/**
 * Libraries that many plans do not need: a plan without templates, a plan that is no file. Each is loaded when it is
 * first asked for. They cost 10 MB and 60 ms together, and each process that is started costs in proportion to the
 * memory of the one that starts it.
 */
const require = createRequire(import.meta.url);

export const liquidjs = (): typeof import('liquidjs') => require('liquidjs') as typeof import('liquidjs');

export const yaml = (): typeof import('yaml') => require('yaml') as typeof import('yaml');
