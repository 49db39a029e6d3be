import { writeFile } from 'node:fs';

/**
 * Proofs on their way to their files, off the thread of the event loop: the next process to start does not wait for
 * them. The end of the run does.
 */
export class ProofFiles {
  #writing = 0;
  #waiting: (() => void)[] = [];

  write(path: string, text: string, failed: (error: Error) => void): void {
    this.#writing += 1;
    writeFile(path, text, { mode: 0o600 }, (error) => {
      this.#writing -= 1;
      if (error !== null) failed(error);
      if (this.#writing > 0) return;
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  /** Settles when none is on its way. */
  async settled(): Promise<void> {
    if (this.#writing > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
