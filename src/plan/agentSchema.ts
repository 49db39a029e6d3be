import * as z from 'zod';
import { type AgentSettings, type Inherited, type Permission, THINKING } from '../agents/index.ts';
import type { StopRung } from '../../machines/protocol.ts';
import { duration, line, modelNames, oneOf, withoutNul } from './fields.ts';

/** An agent of one's own, as people write it: in a plan, in a config file, in code. It checks and changes nothing. */

const rungs = ['abort', 'close-stdin', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const satisfies readonly StopRung['do'][];

const stopRung = z.strictObject({
  do: oneOf(rungs).meta({ description: 'What to do.' }),
  grace: duration.optional().meta({ description: 'How long to wait before the next one; default 3s.' }),
});

const prompt = withoutNul
  .min(1, { error: 'must not be empty' })
  .max(100_000, { error: 'must be at most 100000 characters: let it name a file' });

const systemPrompt = z
  .strictObject({
    append: prompt.optional().meta({ description: "Said after the agent's own system prompt." }),
    replace: prompt.optional().meta({ description: "Said in place of the agent's own system prompt." }),
  })
  .refine(({ append, replace }) => (append === undefined) !== (replace === undefined), {
    error: 'must have either append or replace',
  });

const toolNames = z
  .array(z.string().regex(/^[^\s,]{1,100}$/, { error: 'must be the name of a tool: no spaces, no commas' }))
  .max(200, { error: 'must be at most 200 names' });

const toolList = z.strictObject({
  only: toolNames.optional().meta({ description: 'The tools it may have; [] for none. Default: its own.' }),
  required: toolNames
    .min(1, { error: 'needs at least one name' })
    .optional()
    .meta({ description: 'Where it says that it has not got these, the step fails and is not tried again.' }),
});

const mcpServer = z
  .strictObject({
    command: z
      .array(withoutNul)
      .min(1, { error: 'needs the program at least' })
      .optional()
      .meta({ description: 'Program and arguments of a server that the agent starts.' }),
    env: z
      .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'must be the name of a variable' }))
      .optional()
      .meta({ description: 'Names of the variables that the server is given.' }),
    url: z
      .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
      .optional()
      .meta({ description: 'Address of a server that runs already.' }),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    error: 'must have either command or url',
  })
  .refine(({ env, url }) => env === undefined || url === undefined, { error: 'has env, which a url cannot be given' });

const inherit = z.strictObject({
  context: z.boolean().optional().meta({ description: 'Files such as AGENTS.md and CLAUDE.md.' }),
  skills: z.boolean().optional().meta({ description: 'Skills that it finds by itself.' }),
  extensions: z.boolean().optional().meta({ description: 'Extensions that it finds by itself.' }),
} satisfies Record<Inherited, z.ZodType>);

const paths = (what: string) =>
  z
    .array(line(1_000))
    .max(100, { error: 'must be at most 100' })
    .optional()
    .meta({ description: `${what} What begins with "." is relative to the file that says so.` });

export const agentName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, { error: 'must be 1 to 100 letters, digits, ".", "_" and "-"' });

export const agentDefinition = z.strictObject({
  adapter: line(100).meta({ description: 'The adapter that speaks to it, for example pi or command.' }),
  command: z
    .array(withoutNul)
    .min(1, { error: 'needs the program at least' })
    .refine((words) => words[0] !== '', { error: 'starts with an empty program name' })
    .optional()
    .meta({ description: 'Program and leading arguments. Default: what the adapter finds.' }),
  mode: line(100).optional().meta({ description: 'Wire mode, where the adapter has more than one.' }),
  env: z
    .array(line(1_000))
    .optional()
    .meta({ description: 'Names of the environment variables passed through. Default: all.' }),
  args: z.array(withoutNul).optional().meta({ description: "Arguments added after the adapter's own." }),
  task: oneOf(['stdin', 'argv', 'file'] as const satisfies AgentSettings['task'][])
    .optional()
    .meta({
      description:
        'For the adapter command: how the task reaches the program. stdin (the default); argv: as the last argument, where others on the machine can read it; file: the path of a private file, in place of {file} in the command, else as the last argument.',
    }),
  model: modelNames.optional().meta({ description: 'For steps that name none: a model, or candidates in order.' }),
  thinking: oneOf(THINKING)
    .optional()
    .meta({ description: "How hard it thinks; a level in a model's own name goes before." }),
  systemPrompt: systemPrompt.optional().meta({ description: 'append or replace, and the text.' }),
  tools: z
    .union([toolNames, toolList], { error: 'must be a list of names, or a mapping of only and required' })
    .optional()
    .meta({ description: 'The tools it may have. A list alone is only; [] is none.' }),
  extensions: paths('What is loaded into it.'),
  skills: paths('Files or folders of skills.'),
  mcp: z
    .record(
      z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, "_" and "-"' }),
      mcpServer,
    )
    .optional()
    .meta({ description: 'Servers of the Model Context Protocol, by name.' }),
  inherit: inherit
    .optional()
    .meta({ description: 'false: what it is kept from taking over by itself from the project and the user.' }),
  session: z
    .string()
    .regex(/^(?:fresh|fork|shared:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$/, {
      error: 'must be fresh, fork, or shared:<name>',
    })
    .optional()
    .meta({
      description:
        'fresh: a session for each step (the default). shared:<name>: all steps that say so go on in one, of whatever run of this state root, one at a time. fork: in a copy of that of the step before.',
    }),
  permissions: z
    .record(line(100), oneOf(['allow', 'deny', 'ask'] as const satisfies Permission[]))
    .optional()
    .meta({
      description:
        "What it is answered when it asks whether it may use a tool, by the tool's name or kind; * for every other. What is not named is denied. Which of these an adapter can honour is in its documentation.",
    }),
  stop: z
    .array(stopRung)
    .min(1, { error: 'needs at least SIGKILL' })
    .max(10, { error: 'must have at most 10 rungs' })
    .refine((ladder) => ladder.at(-1)?.do === 'SIGKILL', { error: 'must end with SIGKILL, which is certain' })
    .optional()
    .meta({ description: "How it is stopped, polite first; replaces the adapter's own ladder." }),
});

/** An agent as it is written. */
export type AgentInput = z.input<typeof agentDefinition>;

/** Names of the fields at each place in it; for suggestions. */
export const agentPlaces = {
  agent: Object.keys(agentDefinition.shape),
  stop: Object.keys(stopRung.shape),
  systemPrompt: Object.keys(systemPrompt.shape),
  toolList: Object.keys(toolList.shape),
  mcpServer: Object.keys(mcpServer.shape),
  inherit: Object.keys(inherit.shape),
} as const satisfies Record<string, string[]>;
