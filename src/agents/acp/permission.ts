import type { PermissionOptionKind } from '@agentclientprotocol/sdk';
import type { AgentSettings } from '../adapter.ts';
import { fields, list, string } from '../json.ts';
import type { ToolNews } from './updates.ts';

/** What the settings say about a tool: by its name, its kind, all others; else no. */
export function judge(
  { name, kind }: Pick<ToolNews, 'name' | 'kind'>,
  permissions: AgentSettings['permissions'] = {},
): 'allow' | 'deny' {
  const said = [name, kind, '*'].map((key) => (Object.hasOwn(permissions, key) ? permissions[key] : undefined));
  return said.find((answer) => answer !== undefined) === 'allow' ? 'allow' : 'deny';
}

// For this time goes before for ever: the agent might keep the latter for the user's own work.
const KINDS = {
  allow: ['allow_once', 'allow_always'],
  deny: ['reject_once', 'reject_always'],
} as const satisfies Record<string, readonly PermissionOptionKind[]>;

/** The option that says it; null when there is none. */
export function optionFor(answer: 'allow' | 'deny', options: unknown): string | null {
  const offered = list(options).map(fields);
  for (const kind of KINDS[answer]) {
    const option = offered.find((candidate) => candidate['kind'] === kind && string(candidate['optionId']) !== '');
    if (option !== undefined) return string(option['optionId']);
  }
  return null;
}
