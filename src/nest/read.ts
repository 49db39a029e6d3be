import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Not on Windows. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
/** A pipe in the place of a file must not hold us. */
const NO_BLOCK = constants.O_NONBLOCK ?? 0;

/** The JSON in a regular file of at most `most` bytes; undefined where there is none that can be used. Throws nothing. */
export function readJson(path: string, most: number): unknown {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | NO_FOLLOW | NO_BLOCK);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > most) return undefined;
    // One more than it has: a file that grows meanwhile is cut, and is no JSON then.
    const bytes = Buffer.alloc(stat.size + 1);
    let length = 0;
    for (;;) {
      const read = readSync(fd, bytes, length, bytes.length - length, null);
      length += read;
      if (read === 0 || length === bytes.length) break;
    }
    return JSON.parse(bytes.toString('utf8', 0, length)) as unknown;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}
