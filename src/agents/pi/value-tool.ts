import { join } from 'node:path';
import type { LaunchRequest } from '../adapter.ts';

/** How a value reaches us from pi: by a tool of our extension, which reads from this file what it takes. */

/** Names the file for the extension. */
export const VALUE_TOOL_ENV = 'COXSWAIN_VALUE_TOOL';
export const VALUE_TOOL = 'structured_output';
/** The one parameter of the tool. */
export const VALUE_PARAMETER = 'result';

export function valueToolFile({
  output,
  privateDir,
}: Pick<LaunchRequest, 'output' | 'privateDir'>): { path: string; text: string } | null {
  if (output === undefined) return null;
  return { path: join(privateDir, 'value-tool.json'), text: JSON.stringify(parametersOf(output.schema)) };
}

/** Parameters of a tool are an object, and a value may be anything: so it is one field of them. */
function parametersOf(schema: Readonly<Record<string, unknown>>): object {
  const { $schema: _, ...inner } = moved(schema) as Record<string, unknown>;
  return {
    type: 'object',
    properties: { [VALUE_PARAMETER]: inner },
    required: [VALUE_PARAMETER],
    additionalProperties: false,
  };
}

/** References within the schema lead to where it is now. */
function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string' && /^#(?:\/|$)/.test(inner)
        ? [key, `#/properties/${VALUE_PARAMETER}${inner.slice(1)}`]
        : [key, moved(inner)],
    ),
  );
}

/** What was handed in: as the tool was given it, or, where that was refused, as the model meant it. */
export function valueIn(name: string, given: unknown): { value: unknown } | null {
  if (name !== VALUE_TOOL || typeof given !== 'object' || given === null) return null;
  return Object.hasOwn(given, VALUE_PARAMETER)
    ? { value: (given as Record<string, unknown>)[VALUE_PARAMETER] }
    : { value: given };
}
