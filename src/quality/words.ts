import type { Failure } from '../../machines/protocol.ts';
import type { Schema } from './schema.ts';

/** What an agent is told of what it has to show, besides its task. */

export interface Telling {
  /** Of the value, where the agent's client does not tell it; null otherwise. */
  schema: Schema | null;
  /** It has a tool to hand the value in. */
  byTool: boolean;
  /** Where to write: whole paths. */
  files: readonly string[];
}

export function withDemands(task: string, { schema, byTool, files }: Telling): string {
  return [
    task,
    ...(files.length === 0 ? [] : [filesWords(files)]),
    ...(byTool ? [BY_TOOL] : schema === null ? [] : [schemaWords(schema)]),
  ].join('\n\n');
}

const BY_TOOL =
  'When the work is done, hand in its result with the tool for structured output. Make that your last action.';

function filesWords(files: readonly string[]): string {
  const [first] = files;
  if (files.length === 1) return `Write the result to this file: ${first}`;
  return `Write the results to these files:\n${files.map((file) => `- ${file}`).join('\n')}`;
}

function schemaWords(schema: Schema): string {
  return `End with the result as JSON that fits this JSON Schema. Your last answer is read by a program: it has to be the JSON alone, or to hold it in exactly one fenced code block.\n\n${JSON.stringify(schema)}`;
}

/** For an agent that has tried, and whose value was not taken. */
export function repairWords({ message }: Failure, byTool: boolean): string {
  const how = byTool ? 'Call the tool for structured output again' : 'Give the whole result again';
  return `The result of your work could not be taken: ${message}. The work itself need not be done again. ${how}, put right.`;
}
