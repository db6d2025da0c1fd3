import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { spawnCommand, type Finished } from '../support/command.ts';

/** A first day with the program: the real command in separate processes, on one data directory. */
let dataDir: string;
let env: Record<string, string>;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'millrace-first-day-'));
  env = { MILLRACE_DATA_DIR: join(dataDir, 'data'), MILLRACE_LOG_LEVEL: 'warn' };
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

interface Service {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly finished: Promise<Finished>;
}

async function serve(): Promise<Service & { readonly url: string }> {
  let output = '';
  let started: ChildProcess | undefined;
  const finished = spawnCommand(['serve', '--port', '0'], {
    env,
    onStart: (child) => {
      started = child;
      child.stdout?.on('data', (text: string) => (output += text));
    },
  });
  for (let tries = 0; tries < 600; tries += 1) {
    const url = /ready at (http:\S+)\n/.exec(output)?.[1];
    if (url !== undefined && started !== undefined) {
      // What else belongs to the greeting comes in the same breath.
      await sleep(200);
      return { child: started, output: () => output, finished, url };
    }
    await sleep(100);
  }
  throw new Error(`the service did not start: ${output}`);
}

/** A port of this machine that another program listens on. */
async function takenPort(): Promise<{ readonly number: number; free(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { number: port, free: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function stop({ child, finished }: Service): Promise<Finished> {
  child.kill('SIGTERM');
  return finished;
}

const millrace = (args: string, more: Record<string, string>): Promise<Finished> =>
  spawnCommand(args.split(' '), { env: { ...env, ...more } });

function historyFile(lines: number): Buffer {
  const messages = Array.from({ length: lines }, (_, index) => ({
    type: 'track',
    event: index % 2 === 0 ? 'Order Done' : 'Cart Opened',
    userId: `u${index % 5}`,
    messageId: `m${index - (index % 10 === 9 ? 1 : 0)}`,
    timestamp: new Date(Date.UTC(2021, index % 12, 3)).toISOString(),
    properties: { total: index },
  }));
  return gzipSync(messages.map((each) => JSON.stringify(each)).join('\n'));
}

async function untilCounted(
  access: Record<string, string>,
  expected: number,
): Promise<{ standard: number; historical: number }> {
  for (let tries = 0; ; tries += 1) {
    const { stdout } = await millrace('events counts --json', access);
    const { total } = JSON.parse(stdout) as { total: { standard: number | string; historical: number | string } };
    const numbers = { standard: Number(total.standard), historical: Number(total.historical) };
    if (numbers.standard + numbers.historical >= expected || tries > 60) return numbers;
    await sleep(500);
  }
}

describe('a first day with the command line', () => {
  it('a start prints the first steps until a user has signed in, then how to sign in again; SIGTERM ends with code 0', async () => {
    const port = await takenPort();
    const failed = await millrace(`serve --port ${port.number}`, {});
    expect(failed.stderr).toContain('is taken; choose another with --port');
    expect([failed.code, failed.stdout]).toEqual([exitCodes.failed.code, '']);
    await port.free();
    const first = await serve();
    // It holds keys.
    expect((await stat(join(dataDir, 'data'))).mode & 0o777).toBe(0o700);
    const other = await millrace('serve --port 0', {});
    expect(other.stderr).toMatch(/^error: \S+ is in use by another process: stop that one/m);
    expect(other.stderr).not.toContain('event store');
    expect(other.code).toBe(exitCodes.failed.code);
    const greeting = first.output();
    expect(greeting).toMatch(/Project key\s+phc_\w+/);
    expect(greeting).toMatch(/Console\s+http:\S+\/login\?token=\S+ {2}\(works once, for 30 minutes\)/);
    expect(greeting).toContain('npx millrace keys create');
    expect(greeting).toContain(`export MILLRACE_URL=${first.url}\n`);
    expect(greeting).toContain('docs/tour.md');
    const lines = greeting.split('\n').filter((line) => line !== '');
    expect(new Set(lines).size).toBe(lines.length);
    expect((await millrace('keys create', {})).code).toBe(0);
    expect((await stop(first)).code).toBe(0);

    const second = await serve();
    expect(second.output()).toBe(
      `Millrace is ready at ${second.url}\n  Other commands     export MILLRACE_URL=${second.url}\n  Sign in again      npx millrace login\n`,
    );
    expect((await stop(second)).code).toBe(0);
  });

  it('history is stored once, however often it is sent; configs are managed; the service stays healthy', async () => {
    const service = await serve();
    try {
      const projects = JSON.parse((await millrace('projects list --output json', {})).stdout) as {
        api_token: string;
      }[];
      const key = (await millrace('keys create', {})).stdout.trim();
      const access = {
        MILLRACE_URL: service.url,
        MILLRACE_API_KEY: key,
        MILLRACE_PROJECT_API_KEY: projects[0]?.api_token ?? '',
      };
      const file = join(dataDir, 'history.ndjson.gz');
      await writeFile(file, historyFile(1500));
      for (let times = 0; times < 2; times += 1) {
        const sent = await millrace(`send ${file} --from segment --historical --json`, access);
        expect(JSON.parse(sent.stdout)).toMatchObject({ read: 1500, accepted: 1500, rejected: 0, unsent: 0 });
      }
      expect(await untilCounted(access, 1500)).toEqual({ standard: 0, historical: 1500 });
      expect((await millrace('events list --limit 1200 --json', access)).stdout.trim().split('\n')).toHaveLength(1200);

      const family = '--family transformations --json';
      const made = await millrace(`configs create ${family} --plugin drop-events --settings {"events":"x"}`, access);
      expect(JSON.parse(made.stdout)).toMatchObject({ enabled: false, error: '' });
      const second = JSON.parse((await millrace(`configs create ${family} --plugin rename`, access)).stdout) as {
        id: number;
      };
      expect(JSON.parse((await millrace(`configs reorder ${second.id} 0 ${family}`, access)).stdout)).toMatchObject({
        order: 0,
      });
      expect(JSON.parse((await millrace(`configs enable ${second.id} ${family}`, access)).stdout)).toMatchObject({
        enabled: true,
      });
      expect((await millrace(`configs delete ${second.id} ${family} --yes`, access)).code).toBe(0);
      expect((await millrace(`configs disable ${second.id} ${family}`, access)).code).toBe(exitCodes.notFound.code);
      const names = JSON.parse((await millrace('configs list --output json', access)).stdout) as unknown[];
      expect(names).toHaveLength(1);

      expect((await millrace('events list', { ...access, MILLRACE_API_KEY: 'phx_wrong' })).code).toBe(
        exitCodes.auth.code,
      );
      expect((await millrace(`healthcheck ${service.url}`, {})).code).toBe(0);
      const openapi = await millrace(`openapi --url ${service.url}`, {});
      expect(JSON.parse(openapi.stdout)).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) as string });
      expect(openapi.stdout).toBe((await millrace('openapi', {})).stdout);
    } finally {
      await stop(service);
    }
  });
});
