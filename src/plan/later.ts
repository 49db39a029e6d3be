/**
 * Fields of the plan format that this version knows of and cannot do yet. Naming one is an error: a limit or a check
 * that is silently left out is worse than a plan that does not start.
 */
const later = {
  plan: ['workspace', 'record', 'hooks', 'pools'],
  limits: ['budget', 'output', 'turns', 'tools'],
  nested: [],
  steering: [],
  defaults: ['output', 'accept', 'workspace', 'record', 'budget', 'thinking', 'template'],
  step: [
    'parallel',
    'forEach',
    'as',
    'max',
    'step',
    'workspace',
    'accept',
    'budget',
    'record',
    'thinking',
    'session',
    'group',
    'when',
    'inject',
  ],
  output: [],
  agent: [],
  stop: [],
  systemPrompt: [],
  toolList: [],
  mcpServer: [],
  inherit: [],
  attemptLimits: ['output', 'turns', 'tools', 'budget'],
  stall: [],
  retry: [],
  backoff: [],
  rule: [],
} as const satisfies Record<string, readonly string[]>;

export type Place = keyof typeof later;

export function isLater(place: Place, field: string): boolean {
  const fields: readonly string[] = later[place];
  return fields.includes(field);
}
