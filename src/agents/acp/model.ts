import { type Fields, fields, list, string } from '../json.ts';
import { type Message, setModel, setOption } from './messages.ts';

/** How a session lets its model be chosen. */
export interface ModelChoice {
  current: string | null;
  /** Null: it does not. */
  choose: ((session: string, model: string) => Message) | null;
}

/** From the answer that opens a session, or that sets an option of one. */
export function readModelChoice(result: Fields): ModelChoice {
  const option = list(result['configOptions'])
    .map(fields)
    .find((candidate) => candidate['category'] === 'model');
  if (option !== undefined) {
    const id = string(option['id']);
    return { current: named(option['currentValue']), choose: (session, model) => setOption(session, id, model) };
  }
  const models = result['models'];
  if (models === undefined || models === null) return { current: null, choose: null };
  return { current: named(fields(models)['currentModelId']), choose: setModel };
}

const named = (value: unknown): string | null => string(value) || null;
