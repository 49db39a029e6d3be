import { steer as sendSteer } from '../client.ts';
import { EXIT } from './codes.ts';
import { type CommandingOptions, VERDICT_MS, command, textOf } from './commanding.ts';
import { type Io, fail } from './io.ts';

export interface SteerOptions extends CommandingOptions {
  step?: string;
  mode?: string;
  expires?: string;
  wait: string;
}

const MODES = ['now', 'next', 'auto'] as const;

export async function steer(run: string, word: string, options: SteerOptions, io: Io): Promise<number> {
  const { step, expires, wait } = options;
  const mode = MODES.find((one) => one === (options.mode ?? 'auto'));
  if (mode === undefined) return fail(io, EXIT.usage, `--mode is one of ${MODES.join(', ')}`);
  if (wait !== 'accepted' && wait !== 'delivered') return fail(io, EXIT.usage, '--wait is accepted or delivered');
  const text = await textOf(word);
  if (text.trim() === '') return fail(io, EXIT.usage, 'there is no message');
  const delivered = wait === 'delivered';
  return command(
    {
      name: 'the message',
      done: ({ id, verdict }) =>
        verdict === 'delivered' ? `message delivered (${id})` : `message ${verdict} (${id}); not delivered yet`,
      until: delivered ? 'final' : 'first',
      // An agent takes a message when its tool has ended, whenever that is.
      waitMs: delivered ? Number.POSITIVE_INFINITY : VERDICT_MS,
    },
    options,
    io,
    (sending) => sendSteer(run, text, { ...sending, step, mode, expires }),
  );
}
