import { defineConfig } from 'vitest/config';

// pure: machines and functions, in threads. real: processes, files and agents, one file at a time.
export default defineConfig({
  test: {
    maxWorkers: 2,
    globalSetup: ['test/support/survivors.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'pure', include: ['test/**/*.pure.test.ts'], pool: 'threads', testTimeout: 30_000 },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.real.test.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
