import { defineConfig } from 'vitest/config';

// unit: beside the code, real SQLite / chDB / HTTP inside one process.
// services: the same suites against servers; they skip, saying so, when the server is absent.
// e2e: real processes, real client libraries, kill -9.
const slow = { testTimeout: 180_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts'],
          exclude: ['**/*.services.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      { test: { name: 'services', include: ['src/**/*.services.test.ts'], ...slow } },
      { test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], ...slow, fileParallelism: false } },
    ],
  },
});
