/** The live stream of the real program: from the door and from the pipeline's thread, to the end of the service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStream, type OpenStream } from '../support/event-stream.ts';
import { personalKey, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
const authorization = `Bearer ${personalKey}`;

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path);
});
afterAll(async () => {
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

async function open(query = ''): Promise<OpenStream> {
  const stream = await openStream(`${server.url}/api/projects/@current/live_events/${query}`, { authorization });
  await stream.until(': open');
  return stream;
}

async function send(events: readonly object[], more: object = {}): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch: events, ...more });
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body });
  expect(answer.status).toBe(200);
}

function seen(stream: OpenStream): { readonly stage: string; readonly event: string; readonly uuid: string }[] {
  return [...stream.text().matchAll(/^event: event\ndata: (.*)$/gm)].map(([, json = '']) => JSON.parse(json));
}

describe('the live stream of the service', () => {
  it('an event is shown as received, then as stored, live and historical, and as a dead letter with its reason', async () => {
    const stream = await open();
    const uuid = '01a2044b-5721-4c1e-a16f-2fe5b38ddbc5';
    await send([
      { event: 'first', distinct_id: 'p', uuid },
      { event: 'second', distinct_id: 'p' },
      { event: 'bad', distinct_id: 'p', properties: 7 },
    ]);
    const old = { event: 'old', distinct_id: 'p', timestamp: '2020-01-01T00:00:00Z', properties: { n: 1 } };
    await send([old], { historical_migration: true });
    await expect.poll(() => seen(stream).length).toBe(7);
    const stagesOf = (event: string) => seen(stream).filter((each) => each.event === event);
    expect(stagesOf('first').map(({ stage }) => stage)).toEqual(['received', 'stored']);
    expect(stagesOf('old')).toMatchObject([
      { stage: 'received', historical_migration: true },
      { stage: 'stored', historical_migration: true, timestamp: '2020-01-01T00:00:00.000000Z' },
    ]);
    expect(stagesOf('first').map((each) => each.uuid)).toEqual([uuid, uuid]);
    expect(stagesOf('second')).toMatchObject([{ uuid: null }, { uuid: expect.any(String) }]);
    const [received, stored] = stagesOf('old');
    expect(received?.uuid).toBe(stored?.uuid);
    expect(stagesOf('bad')).toMatchObject([{ stage: 'dead_letter', reason: 'malformed_event_properties' }]);
    stream.close();
  });

  it('every event of a flood is shown or counted', async () => {
    const stream = await open('?stages=stored,received&events_per_second=50&event=flood');
    const perBatch = 500;
    for (let batch = 0; batch < 10; batch++) {
      await send(Array.from({ length: perBatch }, () => ({ event: 'flood', distinct_id: 'q' })));
    }
    const counted = (stage: string): number => {
      const shown = seen(stream).filter((each) => each.stage === stage).length;
      const skipped = [...stream.text().matchAll(/^event: skipped\ndata: (.*)$/gm)].map(
        ([, json = '']) => JSON.parse(json) as { rate: Record<string, number>; slow: Record<string, number> },
      );
      return skipped.reduce((sum, { rate, slow }) => sum + (rate[stage] ?? 0) + (slow[stage] ?? 0), shown);
    };
    await expect.poll(() => [counted('received'), counted('stored')]).toEqual([5000, 5000]);
    stream.close();
  });

  it('the status shows the received events and a healthy service', async () => {
    const answer = await fetch(`${server.url}/api/projects/@current/status/`, { headers: { authorization } });
    const status = (await answer.json()) as Record<string, never>;
    expect(status).toMatchObject({ status: 'ok', attention: [{ code: 'dead_letters_open', count: 1 }] });
    expect(status['received_per_second']?.['live']).toBeGreaterThan(10);
    const service = await fetch(`${server.url}/api/status/`, { headers: { authorization } });
    expect(await service.json()).toMatchObject({ status: 'ok', metadata: 'sqlite', store: { kind: 'embedded' } });
  });

  it('ends with the reason when the service stops', async () => {
    const stream = await open();
    await server.terminate();
    await stream.ended;
    expect(stream.text()).toContain('event: end\ndata: {"reason":"shutdown"');
  });
});
