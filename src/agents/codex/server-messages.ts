import type { LaunchRequest, PermissionAnswer } from '../adapter.ts';
import { readModelName } from '../model.ts';
import { thinkingOf } from '../thinking.ts';
import { effortOf } from './arguments.ts';
import { readThreadName } from './thread-name.ts';

/** What the app server is asked, and the ids by which its answers are known. */

export const OPEN = 'coxswain-open';
export const THREAD = 'coxswain-thread';
export const INTERRUPT = 'coxswain-interrupt';
const TURN = 'coxswain-turn/';
const STEER = 'coxswain-steer/';

/** A text for the agent. */
export interface Message {
  /** Ours, and in the server's words the client's id of it. */
  key: string;
  text: string;
}

export interface Ask {
  id: string;
  method: string;
  params: object;
}

export const initialize: Ask = {
  id: OPEN,
  method: 'initialize',
  params: { clientInfo: { name: 'coxswain', title: null, version: '0' }, capabilities: null },
};
export const initialized = { method: 'initialized' };

export function openThread(request: LaunchRequest): Ask {
  const { resume, model, cwd, settings } = request;
  const { provider = null, id = null } = model === null ? {} : readModelName(model);
  const thinking = thinkingOf(request);
  const params = {
    cwd,
    ...(id === null ? {} : { model: id }),
    ...(provider === null ? {} : { modelProvider: provider }),
    ...(thinking === null ? {} : { config: { model_reasoning_effort: effortOf(thinking) } }),
    ...instructionsOf(settings),
  };
  if (resume === null) return { id: THREAD, method: 'thread/start', params };
  const threadId = readThreadName(resume.session).id;
  return { id: THREAD, method: 'thread/resume', params: { ...params, threadId, excludeTurns: true } };
}

/** After its own instructions, or in place of them. */
function instructionsOf({ systemPrompt }: LaunchRequest['settings']): object {
  if (systemPrompt === undefined) return {};
  return 'append' in systemPrompt
    ? { developerInstructions: systemPrompt.append }
    : { baseInstructions: systemPrompt.replace };
}

export const startTurn = (threadId: string, { key, text }: Message, output: LaunchRequest['output']): Ask => ({
  id: `${TURN}${key}`,
  method: 'turn/start',
  params: {
    threadId,
    clientUserMessageId: key,
    input: inputOf(text),
    ...(output === undefined ? {} : { outputSchema: output.schema }),
  },
});

export const steerTurn = (threadId: string, turn: string, { key, text }: Message): Ask => ({
  id: `${STEER}${key}`,
  method: 'turn/steer',
  params: { threadId, expectedTurnId: turn, clientUserMessageId: key, input: inputOf(text) },
});

export const interruptTurn = (threadId: string, turn: string): Ask => ({
  id: INTERRUPT,
  method: 'turn/interrupt',
  params: { threadId, turnId: turn },
});

const inputOf = (text: string): object[] => [{ type: 'text', text, text_elements: [] }];

/** The key of the message whose turn was answered for; null: it is the answer to something else. */
export const turnOf = (id: string): string | null => (id.startsWith(TURN) ? id.slice(TURN.length) : null);
export const steerOf = (id: string): string | null => (id.startsWith(STEER) ? id.slice(STEER.length) : null);

/** Whether it may do what it asks about. */
export const decide = (id: string | number, { type }: PermissionAnswer): object => ({
  id,
  result: { decision: type === 'allow' ? 'accept' : 'decline' },
});

/** The answer of somebody who is not there: no. */
export function refuse(id: string | number, method: string): object {
  const decision = REFUSALS.get(method);
  return decision === undefined
    ? { id, error: { code: -32_601, message: 'nobody is there to answer' } }
    : { id, result: { decision } };
}

const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['item/commandExecution/requestApproval', 'decline'],
  ['item/fileChange/requestApproval', 'decline'],
  ['execCommandApproval', 'denied'],
  ['applyPatchApproval', 'denied'],
]);
