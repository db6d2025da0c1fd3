import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { findPostgres } from './test/support/postgres-server.ts';
import { makeTempDir } from './test/support/temp-dir.ts';

// unit: beside the code, real SQLite / chDB / HTTP inside one process. Files share the processes that run them, one after
//   another: nothing of the program lives at module level, so a file finds none of what another did.
// services: the same suites against servers; they skip, saying so, when the server is absent.
// console: the logic of the console's components, without a browser; its pages are tested in one by e2e.
// e2e: real processes, real client libraries, kill -9.
// All of them stand in one queue, e2e (the longest) first, so that no processor waits for the last file of a kind.
// Against what hangs, not against what takes long: the machine may be busy with others.
const slow = { testTimeout: 600_000, hookTimeout: 180_000 };

// A limit that only a failing test reaches: what a test waits for takes as long as a busy machine needs.
const expectLater = { poll: { timeout: 120_000 } };
// A poll of a service costs milliseconds in several processes.
const expectOfService = { poll: { ...expectLater.poll, interval: 100 } };

// PGlite, PostgreSQL's engine in the process of the test, stands in for a server; where one is started, its suites run on that alone.
const hasPostgres = process.env['MILLRACE_TEST_SERVERS'] !== undefined && findPostgres() !== undefined;
const standIns = hasPostgres
  ? globSync('src/**/postgres.services.test.ts').map((path) => path.replace('postgres.services', 'pglite'))
  : [];

// Tests start hundreds of processes and threads, each of which would strip and compile the same sources. As bin/millrace.js has it.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

const tempDir = process.env['TMPDIR'] ?? makeTempDir();
if (tempDir !== undefined) process.env['TMPDIR'] = tempDir;

export default defineConfig({
  test: {
    pool: 'forks',
    // An e2e file runs several processes and waits for them half of the time. More files at a time only wait for each other.
    maxWorkers: Math.min(4, Math.max(3, availableParallelism())),
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts'],
          exclude: ['**/*.services.test.ts', ...standIns],
          isolate: false,
          restoreMocks: true,
          unstubEnvs: true,
          expect: expectLater,
          ...slow,
        },
      },
      { test: { name: 'console', include: ['console/src/**/*.test.ts'], isolate: false } },
      {
        test: {
          name: 'services',
          include: ['src/**/*.services.test.ts'],
          globalSetup: ['test/support/servers.ts'],
          expect: expectOfService,
          ...slow,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/builds.ts'],
          isolate: false,
          unstubEnvs: true,
          expect: expectOfService,
          ...slow,
        },
      },
    ],
  },
});
