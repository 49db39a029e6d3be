import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';

/**
 * A terminal that hangs up must not turn a good end into a crash: Node aborts at its exit when it cannot restore a
 * terminal it was started on (seen with 20.20). It leaves alone what is closed.
 */
export function surviveHangUp(): void {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd));
  process.on('exit', () => {
    for (const fd of terminals) if (!isatty(fd)) closeQuietly(fd);
  });
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // Closed already.
  }
}
