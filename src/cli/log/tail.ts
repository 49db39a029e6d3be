import { open } from 'node:fs/promises';

const CHUNK_BYTES = 64 * 1024;

/** Reads a file that grows, from where the last reading ended. A file that is not there yet is empty. */
export class Tail {
  readonly #path: string;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Gives what is new to `take`, a piece at a time, each after the one before was taken. Returns how much it was. */
  async read(take: (chunk: Buffer) => Promise<void>, signal: AbortSignal): Promise<number> {
    const file = await open(this.#path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (file === null) return 0;
    const from = this.#offset;
    try {
      while (!signal.aborted) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, this.#offset);
        if (bytesRead === 0) break;
        this.#offset += bytesRead;
        await take(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
    return this.#offset - from;
  }
}
