export { Check, type Demand } from './check.ts';
export { type Written } from './files.ts';
export { looksVersioned } from './repository.ts';
export { MAX_VALUE_BYTES } from './submissions.ts';
export { repairWords, withDemands } from './words.ts';
export { type Schema, type SchemaMistake, type Validator, compileSchema } from './schema.ts';
