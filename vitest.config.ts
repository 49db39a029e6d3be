import { defineConfig } from 'vitest/config';

// pure: machines and functions, in threads; they leave nothing behind, so the files share what they load. real: processes,
// files and agents, in processes of their own. Two files at a time: none may mind that the machine is busy.
export default defineConfig({
  test: {
    maxWorkers: 2,
    globalSetup: ['test/support/survivors.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/**/*.pure.test.ts'],
          pool: 'threads',
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.real.test.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
