import type { Command, Instant } from '../../machines/protocol.ts';
import type { CommandEnvelope } from './bus.ts';

/**
 * Wraps a command for a run. The envelope has the command's id, so that a command that comes twice by different ways
 * is still one.
 */
export function commandEnvelope(run: string, command: Command, at: Instant, cause?: string): CommandEnvelope {
  return { v: 1, id: command.id, run, type: 'command', at, ...(cause === undefined ? {} : { cause }), body: command };
}
