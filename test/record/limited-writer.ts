import { writeText } from '../../src/record/index.ts';

// Writes more than the limit on file size that its parent has set, and prints the outcome.
process.on('SIGXFSZ', () => undefined);
const outcome = await writeText(process.argv[2] ?? '', 'x'.repeat(4000));
process.stdout.write(JSON.stringify(outcome));
