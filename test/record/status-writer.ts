// Not the index: a light writer starts fast, and it is started twenty times.
import { createStatusFile } from '../../src/record/status-file.ts';
import { statusOf } from './support-data.ts';

// Writes status after status until it is killed.
const path = process.argv[2];
if (path === undefined) throw new Error('usage: status-writer <path>');
const file = createStatusFile(path);
let seq = 0;
setInterval(() => {
  seq += 1;
  // Of changing length, so that a torn write would show.
  file.write({ ...statusOf('r1', seq), name: 'x'.repeat((seq * 997) % 20_000) });
  if (seq === 1) void file.flush().then(() => process.stdout.write('ready\n'));
}, 1);
