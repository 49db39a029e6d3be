import type { PermissionOptionKind } from '@agentclientprotocol/sdk';
import { fields, list, string } from '../json.ts';

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
