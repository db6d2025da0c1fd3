import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-send-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const send = (url: string, ...args: string[]): Promise<Finished> =>
  runCommand(['send', ...args, '--url', url, '--project-key', 'phc_test', '--json']);

function segmentLines(count: number): string {
  const messages = Array.from({ length: count }, (_, index) => ({
    type: 'track',
    event: 'Order Done',
    userId: `u${index % 7}`,
    // Every tenth messageId comes twice.
    messageId: `m${index - (index % 10 === 9 ? 1 : 0)}`,
    timestamp: new Date(Date.UTC(2021, 0, 1) + index * 60_000).toISOString(),
    properties: { total: index },
  }));
  return messages.map((each) => JSON.stringify(each)).join('\n');
}

describe('millrace send', () => {
  it('a gzipped Segment file arrives completely, marked as history, identical in every run', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const file = join(folder, 'history.ndjson.gz');
    await writeFile(file, gzipSync(segmentLines(2500)));
    const first = await send(endpoint.url, file, '--from', 'segment', '--historical');
    expect(JSON.parse(first.stdout)).toMatchObject({
      read: 2500,
      accepted: 2500,
      rejected: 0,
      unreadable: 0,
      unsent: 0,
      requests: 3,
    });
    expect(first.code).toBe(0);
    expect(endpoint.paths[0]).toBe('/batch/');
    expect(endpoint.batches.map((each) => [each.api_key, each.historical_migration, each.batch.length])).toEqual([
      ['phc_test', true, 1000],
      ['phc_test', true, 1000],
      ['phc_test', true, 500],
    ]);
    const sent = endpoint.kept.splice(0);
    expect(new Set(sent.map((event) => event['uuid'])).size).toBe(2500);
    await send(endpoint.url, file, '--from', 'segment', '--historical');
    expect(endpoint.kept).toEqual(sent);
  });

  it('--duplicates drop drops repeated records and counts them', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const file = join(folder, 'twice.ndjson');
    await writeFile(file, segmentLines(100));
    const { stdout } = await send(endpoint.url, file, '--from', 'segment', '--duplicates', 'drop');
    expect(JSON.parse(stdout)).toMatchObject({ read: 100, accepted: 90, duplicates: 10 });
  });

  it('rejected records are kept with their reasons and give their exit code', async () => {
    await using endpoint = await startEndpoint(({ batch }) => ({
      status: 200,
      keep: true,
      body: {
        status: 'Ok',
        rejected: batch.length > 1 ? [{ index: 1, code: 'event_too_large', detail: 'too large' }] : [],
      },
    }));
    const rejected = join(folder, 'rejected.ndjson');
    const input = '{"event":"a","distinct_id":"1"}\n{"event":"b","distinct_id":"1"}\nnot json\n[1]\n';
    const { code, stdout, stderr } = await runCommand(
      ['send', '-', '--url', endpoint.url, '--project-key', 'phc_test', '--rejected', rejected],
      { input },
    );
    expect(stdout).toContain('read  4\naccepted  1\nrejected  1\nunreadable  2\n');
    expect(stderr).toContain(`3 records were rejected; see ${rejected}`);
    expect(code).toBe(exitCodes.rejected.code);
    const lines = (await readFile(rejected, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual(
      expect.arrayContaining([
        { place: 'line 2', code: 'event_too_large', detail: 'too large', original: { event: 'b', distinct_id: '1' } },
        {
          place: 'line 3',
          code: 'unreadable',
          detail: expect.stringContaining('not JSON') as string,
          original: 'not json',
        },
        { place: 'line 4', code: 'unreadable', detail: 'expected a JSON object', original: [1] },
      ]),
    );
  });

  it('a batch object marked as historical is not sent as live events by mistake', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const input = '{"historical_migration":true,"batch":[{"event":"a","distinct_id":"1"}]}';
    const args = ['send', '-', '--url', endpoint.url, '--project-key', 'phc_test'];
    expect((await runCommand(args, { input })).code).toBe(exitCodes.usage.code);
    expect(endpoint.batches).toEqual([]);
    expect((await runCommand([...args, '--historical'], { input })).code).toBe(0);
    expect(endpoint.kept).toHaveLength(1);
  });

  it('Ctrl-C ends a wait immediately, with the totals', async () => {
    await using endpoint = await startEndpoint((_batch, attempt) =>
      attempt === 1 ? 'keep' : { status: 503, headers: { 'retry-after': '600' } },
    );
    const file = join(folder, 'long.ndjson');
    await writeFile(file, segmentLines(1500));
    const finished = await runCommand(
      ['send', file, '--from', 'segment', '--url', endpoint.url, '--project-key', 'phc_test', '--json'],
      {
        onStart: (command) => {
          const waitForSecond = setInterval(() => {
            if (endpoint.batches.length < 2) return;
            clearInterval(waitForSecond);
            setTimeout(() => command.interrupt(), 200);
          }, 20);
        },
      },
    );
    expect(JSON.parse(finished.stdout)).toMatchObject({ read: 1500, accepted: 1000, unsent: 500 });
    expect(finished.code).toBe(exitCodes.interrupted.code);
  });

  it('Ctrl-C and a refusal end the command while more input could come', async () => {
    await using endpoint = await startEndpoint(() => ({ status: 401, body: { detail: 'no such project key' } }));
    const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
    const open = (lines: string): ReturnType<typeof spawn> => {
      const args = [bin, 'send', '-', '--url', endpoint.url, '--project-key', 'phc_test', '--no-progress'];
      const child = spawn(process.execPath, args, {
        stdio: ['pipe', 'ignore', 'ignore'],
        env: { PATH: '/usr/bin:/bin' },
      });
      child.stdin?.on('error', () => {});
      // Never ended: the pipe stays open.
      child.stdin?.write(lines);
      return child;
    };
    const ended = (child: ReturnType<typeof spawn>): Promise<number | null> =>
      new Promise((resolve) => child.on('exit', (code) => resolve(code)));

    const beganAt = performance.now();
    const refused = open('{"event":"a","distinct_id":"1"}\n'.repeat(3000));
    expect(await ended(refused)).toBe(exitCodes.auth.code);
    // By then the next one reads, too, however slow the machine is.
    const startedMs = Math.max(1000, 2 * (performance.now() - beganAt));
    const waiting = open('{"event":"a","distinct_id":"1"}\n');
    setTimeout(() => waiting.kill('SIGINT'), startedMs);
    expect(await ended(waiting)).toBe(exitCodes.interrupted.code);
  });

  it('an unusable file for rejected records is refused before anything is sent or lost', async () => {
    const file = join(folder, 'precious.ndjson');
    await writeFile(file, '{"event":"a","distinct_id":"1"}');
    for (const rejected of [file, folder]) {
      const { code, stderr } = await send('http://127.0.0.1:9', file, '--rejected', rejected);
      expect(stderr).toContain('--rejected: expected a file to write');
      expect(code).toBe(exitCodes.usage.code);
    }
    expect(await readFile(file, 'utf8')).toBe('{"event":"a","distinct_id":"1"}');
  });

  it.each([
    ['missing.ndjson', 'cannot read'],
    ['.', 'expected a file'],
  ])('a file that cannot be read (%s) is reported', async (name, expected) => {
    const { code, stderr } = await send('http://127.0.0.1:9', join(folder, name));
    expect(stderr).toContain(expected);
    expect(code).toBe(exitCodes.usage.code);
  });

  it('a truncated gzip file ends with code 1 after sending what could be read', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const file = join(folder, 'cut.ndjson.gz');
    const whole = gzipSync(segmentLines(3000));
    await writeFile(file, whole.subarray(0, whole.length - 100));
    const { code, stdout, stderr } = await send(endpoint.url, file, '--from', 'segment');
    const totals = JSON.parse(stdout) as { read: number; accepted: number; unsent: number };
    expect(totals.accepted + totals.unsent).toBe(totals.read);
    expect(totals.accepted).toBe(endpoint.kept.length);
    expect(stderr).toMatch(/the gzip data of \S+ ends too early .*; reading stopped; the totals show what was sent/);
    expect(code).toBe(exitCodes.failed.code);
  });
});

describe('records of other tools', () => {
  const exported = [
    {
      event: 'Old Name',
      properties: { time: 1_609_459_200, distinct_id: 'u1', $insert_id: 'evt-1', secret: 1, org: 7 },
    },
    { event: 'Noise', properties: { time: 1_609_459_201, distinct_id: 'u1', $insert_id: 'evt-2' } },
    { event: 'x', properties: { time: 1_609_459_202, $user_id: 'u1', $device_id: 'd1', $insert_id: 'evt-3' } },
    { event: 'x', properties: { distinct_id: 'u1' } },
  ];
  const write = async (name: string, content: unknown): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };

  it('become events by the format, its options and an edited table of names; every record is accounted for', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const file = await write('export.json', exported);
    const printed = await runCommand(['send', '--from', 'mixpanel', '--print-names']);
    expect(printed.code).toBe(0);
    const table = JSON.parse(printed.stdout) as { events: object; properties: object };
    const names = await write('names.json', {
      ...table,
      events: { ...table.events, 'Old Name': 'New Name', Noise: null },
      properties: { ...table.properties, secret: null },
    });
    const args = [
      file,
      '--from',
      'mixpanel',
      '--names',
      names,
      '--format-option',
      'groups=org:company',
      '--historical',
    ];
    const { stdout, code } = await send(endpoint.url, ...args);
    expect(JSON.parse(stdout)).toMatchObject({
      read: 4,
      events: 3,
      accepted: 3,
      skipped: 1,
      unreadable: 1,
      unsent: 0,
      reasons: { 'skipped: the name table skips events called Noise': 1 },
    });
    expect(code).toBe(exitCodes.rejected.code);
    expect(endpoint.kept.map((event) => event['event'])).toEqual(['New Name', '$identify', 'x']);
    expect(endpoint.kept[0]).toMatchObject({
      uuid: 'b1e8294d-c1b5-55f9-bb71-a01a10983447',
      properties: { $groups: { company: '7' }, $import_source: 'mixpanel' },
    });
    expect(JSON.stringify(endpoint.kept)).not.toContain('secret');
  });

  it('become events by rules in a file', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const rules = await write('rules.json', {
      event: 'name',
      distinct_id: 'user',
      timestamp: { path: 'at', format: 's' },
    });
    const file = await write('rows.json', [{ name: 'a', user: 'u', at: '1609459200', total: 7 }]);
    const { code } = await send(endpoint.url, file, '--from', 'mapping', '--format-option', `mapping=@${rules}`);
    expect(code).toBe(0);
    const [event] = endpoint.kept;
    expect(event).toMatchObject({ event: 'a', distinct_id: 'u', timestamp: '2021-01-01T00:00:00.000Z' });
    expect(event?.['properties']).toMatchObject({ total: 7 });
  });

  it.each<[readonly string[], string]>([
    [['--from', 'mixpanel', '--format-option', 'zone'], 'expected key=value'],
    [
      ['--from', 'mixpanel', '--format-option', 'zone=UTC'],
      '(time_zone, groups, group_type, identify, profile_time), got zone',
    ],
    [['--from', 'mixpanel', '--format-option', 'time_zone=Nowhere'], 'time_zone: expected a time zone'],
    [['--from', 'mapping'], 'mapping: expected the rules as JSON'],
    [['--from', 'mapping', '--format-option', 'mapping=@missing.json'], 'cannot read missing.json'],
    [['--from', 'mixpanel', '--names', 'missing.json'], 'cannot read missing.json'],
    [['--format-option', 'a=b'], 'choose a format with --from to use --format-option'],
    [['--print-names'], 'choose a format with --from'],
  ])('%j is refused before anything is read', async (args, message) => {
    const { code, stderr } = await send('http://127.0.0.1:9', join(folder, 'missing.ndjson'), ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(exitCodes.usage.code);
  });
});

describe('the two methods of the guide', () => {
  it('the command and the script with the posthog-node client send the same events', async () => {
    await using byCommand = await startEndpoint(() => 'keep');
    await using byClient = await startEndpoint(() => 'keep');
    const lines = `${segmentLines(30)}\n{"type":"identify","userId":"u1","anonymousId":"a1","messageId":"i1","timestamp":"2021-01-02T00:00:00Z","traits":{"plan":"pro"}}`;
    const file = join(folder, 'both.ndjson.gz');
    await writeFile(file, gzipSync(`${lines}\nnot json\n`));
    await send(byCommand.url, file, '--from', 'segment', '--historical');

    const script = fileURLToPath(new URL('../../../docs/guides/first-history.mjs', import.meta.url));
    const said = await promisify(execFile)(process.execPath, [script, file, byClient.url, 'phc_test']);
    expect(said.stdout).toBe('sent 31, skipped 1\n');

    expect(byClient.batches.every((each) => each.historical_migration === true)).toBe(true);
    const essence = (event: Readonly<Record<string, unknown>>): unknown => {
      // Properties that the client adds to every event.
      const {
        $lib: _,
        $lib_version: __,
        $is_server: ___,
        $geoip_disable: ____,
        ...properties
      } = event['properties'] as object & {
        $lib?: unknown;
        $lib_version?: unknown;
        $is_server?: unknown;
        $geoip_disable?: unknown;
      };
      return {
        uuid: event['uuid'],
        event: event['event'],
        distinct_id: event['distinct_id'],
        time: Date.parse(String(event['timestamp'])),
        properties,
      };
    };
    expect(byClient.kept.map(essence)).toEqual(byCommand.kept.map(essence));
  });
});
