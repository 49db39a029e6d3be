import type { Duplex } from 'node:stream';
import { GATE_WORD } from './container/enter.ts';

/**
 * Waits for a wrapper to say that it is inside its container, then calls `inside` and lets it go on. False: it ended without
 * a word, so the program was never begun. Settles in any case: the stream ends with the wrapper.
 */
export function passGate(gate: Duplex, inside: () => void): Promise<boolean> {
  return new Promise((resolve) => {
    let heard = '';
    const end = (entered: boolean): void => {
      gate.off('data', listen);
      if (!entered) gate.destroy();
      resolve(entered);
    };
    const listen = (chunk: Buffer): void => {
      heard += chunk.toString('latin1');
      if (!heard.includes(`${GATE_WORD}\n`)) return;
      inside();
      // Let go once the word is in the other's hands: `unshare` keeps its end for as long as it lives.
      gate.end('go\n', () => gate.destroy());
      end(true);
    };
    gate.on('data', listen);
    gate.on('error', () => end(false));
    gate.on('close', () => end(false));
    gate.on('end', () => end(false));
  });
}
