import * as z from 'zod';
import { agentDefinition, agentName } from '../agentSchema.ts';

const version = z
  .literal(1, { error: 'must be 1: this is the only version of the config file that is known here' })
  .meta({ description: 'Version of the config file.' });

const schemaField = z.string().optional().meta({ description: 'For editors; not read.' });

/** The file around its agents: each of them is checked by itself, so that a broken one spoils no other. */
export const configSchema = z.strictObject({
  $schema: schemaField,
  version,
  agents: z.record(agentName, z.unknown()).optional(),
});

export const CONFIG_FIELDS = Object.keys(configSchema.shape);

/** One agent where it stands in the file, so that what is found has its path. */
export const configAgents = z.object({ agents: z.record(z.string(), agentDefinition) });

/** The config file as a JSON Schema (draft 7), for editors. */
export function configJsonSchema(): object {
  const whole = z.strictObject({
    $schema: schemaField,
    version,
    agents: z
      .record(agentName, agentDefinition)
      .optional()
      .meta({ description: 'Agents that plans may name, by name.' }),
  });
  return { ...z.toJSONSchema(whole, { io: 'input', target: 'draft-7' }), title: 'coxswain config, version 1' };
}
