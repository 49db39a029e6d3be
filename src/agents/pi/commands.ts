import type { Queue } from './messages.ts';

/** What pi is asked on its stdin in mode `rpc`, and the ids by which its answers are known. */

export const PROMPT = 'coxswain-prompt';
export const STATE = 'coxswain-state';
export const RESUMED = 'coxswain-resumed';
export const ONE_MORE = 'coxswain-one-more';
const MESSAGE = 'coxswain-message-';

export type Command = Readonly<Record<string, unknown>>;

export const prompt = (message: string, id = PROMPT): Command => ({ id, type: 'prompt', message });
export const askState = (id = STATE): Command => ({ id, type: 'get_state' });
export const abort: Command = { id: 'coxswain-abort', type: 'abort' };

/** `id` null: a message of our own, of whose answer nothing is expected. */
export const tell = (id: string | null, message: string, queue: Queue): Command => ({
  id: id === null ? 'coxswain-wrap-up' : `${MESSAGE}${id}`,
  type: queue === 'steering' ? 'steer' : 'follow_up',
  message,
});

/** The id of the message that an answer belongs to; null: of none. */
export const messageOf = (id: string): string | null => (id.startsWith(MESSAGE) ? id.slice(MESSAGE.length) : null);

export const cancelDialog = (id: string): Command => ({ type: 'extension_ui_response', id, cancelled: true });
