import type { PermissionAnswer } from '../adapter.ts';

/** What Claude Code is told on its stdin. */

/** `later` waits until the agent is at rest, `next` is read at the next tool boundary. */
export type Priority = 'next' | 'later';

export const userMessage = (uuid: string, text: string, priority: Priority): object => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'text', text }] },
  uuid,
  priority,
});

/** `n`: which interrupt of this session it is. */
export const interrupt = (n: number): object => ({
  type: 'control_request',
  request_id: `coxswain-interrupt-${n}`,
  request: { subtype: 'interrupt' },
});

/** Whether it may use the tool it asks about; what it is given back as input is what it uses. */
export function allowance(id: string, input: unknown, answer: PermissionAnswer): object {
  const response =
    answer.type === 'allow'
      ? { behavior: 'allow', updatedInput: input ?? {} }
      : { behavior: 'deny', message: (answer.type === 'deny' ? answer.why : null) ?? 'it is not allowed' };
  return { type: 'control_response', response: { subtype: 'success', request_id: id, response } };
}

/** The answer of somebody who is not there: no. */
export function refuse(id: string, subtype: string): object {
  const message = 'nobody is there to answer';
  const response =
    subtype === 'can_use_tool'
      ? { subtype: 'success', request_id: id, response: { behavior: 'deny', message } }
      : { subtype: 'error', request_id: id, error: message };
  return { type: 'control_response', response };
}
