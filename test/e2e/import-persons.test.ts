/**
 * Real: the whole program as a process, its stores, files. Doubled: nothing. The oracle computes each person from the rows and the
 * live events by the time of each value.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { untilDrained } from '../../tools/bench/server.ts';
import { ageFile } from '../support/age-files.ts';
import { apiSend, createFilesConfig, expectExactRun, startImport, untilRun } from '../support/import-runs.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../support/server.ts';
import { sendLive } from '../support/undo-worlds.ts';

let data: Awaited<ReturnType<typeof tempDataDir>>;
let server: TestServer;
beforeAll(async () => {
  data = await tempDataDir();
  server = await startServer(data.path);
});
afterAll(async () => {
  await server.terminate();
  await data[Symbol.asyncDispose]();
});

interface Customer {
  readonly id: string;
  readonly device: string;
  readonly plan: string;
  readonly city: string;
  readonly came: string;
  readonly at: string;
}

const longId = 9_007_199_254_740_993n;
const cities = ['München', 'say "hi", Łódź', "O'Hara", '東京'];
/** Every fourth customer has visited with a device before, every tenth has a live event that is newer than its row. */
const customers = Array.from({ length: 400 }, (_, n): Customer => ({
  id: n % 3 === 0 ? String(longId + BigInt(n)) : `kunde-${n}`,
  device: n % 4 === 0 ? `device-${n}` : '',
  plan: n % 2 === 0 ? 'pro' : 'free',
  city: cities[n % cities.length] ?? '',
  came: `ad-${n % 5}`,
  at: new Date(Date.UTC(2024, 0, 1) + n * 3_600_000).toISOString(),
}));
const liveTime = '2024-06-01T00:00:00.000Z';
const isLive = (n: number): boolean => n % 10 === 0;

function live(): Parameters<typeof sendLive>[2] {
  const visits = customers.flatMap(({ device }, n) =>
    device === '' ? [] : [event(n, device, '2023-12-01T00:00:00.000Z', { $set: { first_page: `/p/${n}` } })],
  );
  const newer = customers.flatMap(({ id }, n) =>
    isLive(n) ? [event(n + 1000, id, liveTime, { $set: { plan: 'live' }, $set_once: { came: 'live' } })] : [],
  );
  return [...visits, ...newer];
}

function event(n: number, distinct_id: string, timestamp: string, properties: object) {
  const uuid = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  return { uuid, event: 'Visit', distinct_id, timestamp, properties: { ...properties } };
}

/** The later value of `$set`, the earlier of `$set_once`. */
function expectedOf({ device, plan, city, came }: Customer, n: number): object {
  return {
    ...(device !== '' && { first_page: `/p/${n}` }),
    plan: isLive(n) ? 'live' : plan,
    city,
    came,
  };
}

async function personOf(id: string): Promise<{ properties: object; distinct_ids: readonly string[] } | undefined> {
  const path = `/api/projects/@current/persons/?distinct_id=${encodeURIComponent(id)}`;
  const { results } = await apiGet<{ results: { properties: object; distinct_ids: readonly string[] }[] }>(
    server,
    path,
  );
  return results[0];
}

async function writeCsv(name: string, rows: readonly string[]): Promise<string> {
  const path = join(data.path, 'import-files', name);
  await mkdir(join(data.path, 'import-files'), { recursive: true });
  await writeFile(path, rows.join('\n'));
  await ageFile(path);
  return path;
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const mapping = {
  records: 'persons',
  distinct_id: 'id',
  anonymous_id: 'device',
  timestamp: 'at',
  uuid: 'customer-{id}',
  $set_once: ['came'],
};

it('a table of persons changes persons by the time of each value, once, and undo restores them', async () => {
  const before = live();
  await sendLive(server, { project: projectKey, personal: personalKey }, before);
  await untilStored(server, { standard: before.length });
  await untilDrained(server.url, 60_000);

  const rows = customers.map(({ id, device, plan, city, came, at }) =>
    [id, device, plan, quoted(city), came, at].join(','),
  );
  const paths = await writeCsv('customers.csv', [
    'id,device,plan,city,came,at',
    ...rows,
    'null,,x,y,z,2024-01-01T00:00:00Z',
  ]);
  const config = await createFilesConfig(server, {
    paths,
    format: 'mapping',
    format_options: { mapping } as unknown as string,
  });
  const run = await startImport(server, config);
  const { report, verify } = await expectExactRun(server, run);
  const links = customers.filter(({ device }) => device !== '').length;
  expect(report.totals).toMatchObject({ records: { read: 401, skipped: 1, rejected: 0 } });
  expect(verify.found).toBe(customers.length + links);
  const stored = await untilStored(server, { standard: before.length, historical: customers.length + links });
  expect(stored.total.historical).toBe(500);
  await untilDrained(server.url, 60_000);
  for (const [n, customer] of customers.entries()) {
    const person = await personOf(customer.id);
    expect([n, person?.properties]).toEqual([n, expectedOf(customer, n)]);
    expect(person?.distinct_ids.toSorted()).toEqual(
      [customer.id, ...(customer.device === '' ? [] : [customer.device])].toSorted(),
    );
  }

  const again = await startImport(server, config);
  await expectExactRun(server, again);
  await untilStored(server, { standard: before.length, historical: customers.length + links });

  for (const path of [run, again]) {
    await apiSend(server, 'POST', `${path}undo/`);
    await untilRun(server, path, ({ state }) => state === 'undone');
  }
  await untilStored(server, { standard: before.length, historical: 0 });
  await untilDrained(server.url, 60_000);
  for (const [n, { id, device }] of customers.entries()) {
    const person = await personOf(id);
    expect([n, person?.properties]).toEqual([n, isLive(n) ? { plan: 'live', came: 'live' } : undefined]);
    if (device === '') continue;
    expect((await personOf(device))?.properties).toEqual({ first_page: `/p/${n}` });
  }
});

it('a table of groups sets properties of groups, with the time that its rules give to all rows', async () => {
  const paths = await writeCsv('companies.csv', ['id,name,seats', '1,"ACME ""North""",5', '2,東京,']);
  const config = await createFilesConfig(server, {
    paths,
    format: 'mapping',
    format_options: {
      mapping: { records: 'groups', groups: { company: 'id' }, timestamp: { constant: '2024-05-01' } },
    } as unknown as string,
  });
  await expectExactRun(server, await startImport(server, config));
  const { results } = await apiGet<{ results: { distinct_id: string; timestamp: string; properties: object }[] }>(
    server,
    '/api/projects/@current/events/?event=%24groupidentify',
  );
  const found = results.toSorted((a, b) => (a.distinct_id < b.distinct_id ? -1 : 1));
  expect(found.map(({ timestamp }) => Date.parse(timestamp))).toEqual(Array(2).fill(Date.UTC(2024, 4, 1)));
  expect(found.map(({ properties }) => properties)).toMatchObject([
    { $group_type: 'company', $group_key: '1', $group_set: { name: 'ACME "North"', seats: '5' } },
    { $group_type: 'company', $group_key: '2', $group_set: { name: '東京' } },
  ]);
});
