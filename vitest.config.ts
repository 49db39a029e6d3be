import { defineConfig } from 'vitest/config';

// pure: machines and functions, in threads. real: processes, files and agents, in processes of their own. Two files at a
// time: most of what they do is to wait for processes, and none may mind that the machine is busy.
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
        },
      },
    ],
  },
});
