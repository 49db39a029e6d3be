import { defineConfig } from 'vitest/config';

// pure: machines and functions, in threads. real: processes, files and agents, in processes. In both, files share what they
// load, which costs more than most of them do. apart: tests that measure their own process, or end a run by the clock
// within it, each file in a process of its own. One group after the other: a worker is shared only by neighbours.
// Two files at a time: none may mind that the machine is busy.
const apart = ['machines', 'process', 'runtime'].map((room) => `test/${room}/**/*.real.test.ts`);
const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    maxWorkers: 2,
    globalSetup: ['test/support/survivors.ts'],
    reporters: ['default', './test/support/seconds.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/**/*.pure.test.ts'],
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
          ...patience,
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.real.test.ts'],
          exclude: ['**/node_modules/**', ...apart],
          pool: 'forks',
          isolate: false,
          sequence: { groupOrder: 1 },
          ...patience,
        },
      },
      {
        extends: true,
        test: { name: 'apart', include: apart, pool: 'forks', sequence: { groupOrder: 2 }, ...patience },
      },
    ],
  },
});
