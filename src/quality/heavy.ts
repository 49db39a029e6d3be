import { createRequire } from 'node:module';

/** The validator of JSON Schema is loaded when a plan has one; see src/plan/heavy.ts. */
const require = createRequire(import.meta.url);

export const ajv = (): typeof import('ajv/dist/ajv.js') => require('ajv') as typeof import('ajv/dist/ajv.js');
export const ajv2020 = (): typeof import('ajv/dist/2020.js') =>
  require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
export const addFormats = (): (typeof import('ajv-formats'))['default'] =>
  (require('ajv-formats') as typeof import('ajv-formats')).default;
