/** Erasures of the real service: the guide as written, and what is left in the files of its data directory. */
import { readFileSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErasureCounts } from '../../src/wire/contract/erasures.ts';
import { startGuideService, type GuideService } from '../support/guide-service.ts';
import { readAllEvents } from '../support/ledger.ts';
import { shareOf } from '../support/page-commands.ts';
import { personalKey, projectKey, untilSettled } from '../support/server.ts';
import { filesWith } from '../support/store-bytes.ts';

const share = shareOf(import.meta.url);
const page = 'docs/guides/erase.md';
const mail = 'ada-canary@example.com';
const anonymous = 'anonymous-canary-12345678901234567890';
const months = 12;

let service: GuideService;
/** With the scope of erasures. */
let key: string;
beforeAll(async () => {
  service = await startGuideService();
  await using seat = await service.open();
  key = (await seat.type('npx millrace keys create counting --scope project:read erasure:write')).trim();
});
afterAll(async () => service[Symbol.asyncDispose]());

function eventsOf(id: string, email: string): object[] {
  return Array.from({ length: months }, (_, month) => ({
    event: month % 2 === 0 ? 'debug started' : "it's bought",
    distinct_id: id,
    timestamp: new Date(Date.UTC(2019, month, 3)).toISOString(),
    properties: { $set: { email }, month },
  }));
}

async function send(batch: readonly object[]): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch });
  expect((await fetch(`${service.server.url}/batch/`, { method: 'POST', body })).status).toBe(200);
}

function request(path: string, body: object, by = key): Promise<Response> {
  const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' };
  return fetch(`${service.server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Names the files of the stores that contain a text: of events unpacked, of the others as they are. */
function filesOf(texts: readonly string[]): string[] {
  const data = service.server.dataDir;
  const others = readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(data, 'events')))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => texts.some((text) => readFileSync(path).includes(text)));
  return [...filesWith(join(data, 'events'), texts), ...others];
}

interface Run {
  readonly state: string;
  readonly totals: Readonly<Record<string, unknown>>;
}

describe('the guide to erasures', () => {
  it('erases a person by command and a filter, counts before, and leaves no byte in the files of the service', async () => {
    await using seat = await service.open();
    const [command = '', api = ''] = share.take({ page, heading: 'Erase a person' });
    const [certificate = ''] = share.take({ page, heading: 'The certificate' });
    const [filter = ''] = share.take({ page, heading: 'Erase events by a filter' });
    await send([
      ...eventsOf('ada', mail),
      { event: '$identify', distinct_id: 'ada', properties: { $anon_distinct_id: anonymous } },
      { event: '', distinct_id: anonymous },
      ...eventsOf('grace', 'grace@example.com'),
    ]);
    await untilSettled(service.server, { standard: 2 * months + 1 });
    const others = await countOf({ distinct_ids: ['grace'] });
    expect(filesOf([mail, anonymous])).not.toEqual([]);
    const said = await seat.type(command);
    expect(said).toMatch(/events +13\n/);
    expect(said).toMatch(/done/);
    const [, id = ''] = /^erasure +([0-9a-f-]{36})$/m.exec(said) ?? [];
    expect(await seat.type(certificate.replace('<id>', id))).toMatch(/signature +valid[^]*events +13\n/);
    expect(await countOf({ distinct_ids: ['ada', anonymous] })).toMatchObject({
      events: 0,
      rows: 0,
      persons: 0,
      dead_letters: 0,
    });
    expect(await countOf({ distinct_ids: ['grace'] })).toEqual(others);
    expect(filesOf([mail, anonymous])).toEqual([]);
    expect(await seat.type(api)).toContain('"state":"queued"');
    await seat.type(filter);
    const left = await countOf({ distinct_ids: ['grace'] });
    expect(left).toMatchObject({ events: months / 2, by_name: { "it's bought": months / 2 }, persons: 1 });
    const [keepOut = ''] = share.take({ page, heading: 'Keep an erased person out' });
    expect(share.left()).toEqual([]);
    const kept = await seat.type(keepOut);
    expect(kept).toMatch(/kept out +yes\n/);
    expect(kept).toMatch(/removed +1\n/);
  });

  it('an import into a project with a list previews, counts and skips the records of its ids, and the rest is exact', async () => {
    await using erasing = await service.open({ env: { MILLRACE_API_KEY: key } });
    await using seat = await service.open({ env: { MILLRACE_API_KEY: personalKey } });
    const [digits, quoted] = ['1234567890123456789', "zoë 'x'"];
    await writeFile(join(erasing.folder, 'ids.txt'), `${digits}\n${quoted}\n`);
    await erasing.type('npx millrace erasures start --ids-file ids.txt --keep-out --yes');
    const ids = [digits, quoted, 'hedy', '1234567890123456788'];
    const seen = Array.from({ length: 40 }, (_, n) => ({ event: 'kept or not', distinct_id: ids[n % 4] }));
    const link = { event: '$identify', distinct_id: 'hedy', properties: { $anon_distinct_id: quoted } };
    const lines = [...seen, link].map((event, n) => {
      const uuid = `0191d5f0-0000-7000-8000-${String(n).padStart(12, '0')}`;
      return JSON.stringify({ ...event, uuid, timestamp: `2023-05-0${1 + (n % 9)}T00:00:00Z` });
    });
    await writeFile(join(seat.folder, 'history.ndjson'), `${lines.join('\n')}\n`);
    const paths = (await seat.type('npx millrace import upload history.ndjson')).trim();
    const settings = JSON.stringify({ paths, format: 'posthog' });
    const config = JSON.parse(
      await seat.type(`npx millrace configs create --plugin files --settings '${settings}' --json`),
    ) as { id: number; plugin: number };

    const order = { plugin: config.plugin, settings: { paths }, format: 'posthog', records: 4 };
    const preview = await request('/api/projects/@current/import_preview/', order, personalKey);
    const reason = 'an erased id is kept out (id_kept_out)';
    expect(await preview.json()).toMatchObject({
      events: 2,
      skipped: 2,
      results: [{ outcome: 'skipped', reason, events: [] }, { outcome: 'skipped', reason }, {}, { outcome: 'events' }],
    });

    await seat.type(`npx millrace import start --config ${config.id} --watch`);
    const run = JSON.parse(await seat.type('npx millrace runs --json')) as Run;
    expect(run).toMatchObject({
      state: 'completed',
      totals: {
        records: 41,
        skipped: { [reason]: 21 },
        rejected: 0,
        events: 20,
        loaded: 20,
        verified: 20,
        verdict: 'exact',
      },
    });
    const stored = (await readAllEvents(service.server)).filter(({ event }) => event === 'kept or not');
    expect(new Set(stored.map(({ distinct_id: id }) => id))).toEqual(new Set(['hedy', '1234567890123456788']));
    expect(stored).toHaveLength(20);
  });

  it('refuses a key that has all scopes but this one', async () => {
    const path = '/api/projects/@current/erasures/';
    const refused = await request(path, { distinct_ids: ['grace'] }, personalKey);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: 'permission_denied' });
  });
});

async function countOf(body: object): Promise<ErasureCounts> {
  const answer = await request('/api/projects/@current/erasures/dry_run/', body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as ErasureCounts;
}
