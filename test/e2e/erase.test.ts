/** Erasures of the real service: the guide as written, and what is left in the files of its data directory. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErasureCounts } from '../../src/wire/contract/erasures.ts';
import { startGuideService, type GuideService } from '../support/guide-service.ts';
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
