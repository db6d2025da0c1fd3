import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { freePort, tempDataDir } from '../support/server.ts';

// Real: the program and its event store. Nothing listens at the address of PostgreSQL.

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

it('a start without its database ends with a message, leaves nothing running and repeats no password', async () => {
  await using data = await tempDataDir();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      MILLRACE_PORT: '0',
      MILLRACE_DATA_DIR: data.path,
      DATABASE_URL: `postgres://someuser:never-to-be-seen@127.0.0.1:${await freePort()}/events`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(1);
  expect(output).toContain('expected to reach PostgreSQL at DATABASE_URL, got: ECONNREFUSED');
  expect(output).not.toContain('never-to-be-seen');
});
