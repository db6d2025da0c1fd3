import type { Run } from '../../run/run.ts';
import { zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunFailedError, RunLostError } from '../../run/leased-run.ts';
import type { RejectedRecord, Staging } from '../../staging.ts';
import { TargetError, TargetWaitError, type Target } from '../../target.ts';
import { openHttpTarget } from '../../targets/http-target.ts';
import { splitLines } from '../../targets/lines.ts';
import { directRequest } from '../../targets/http-request.ts';
import { startBatchService, type SentEvent, type Treatment } from '../../../../test/support/batch-service.ts';
import { createLoadStage, type LoadDeps } from './load-stage.ts';
import {
  eventsOf,
  microsOf,
  stageDays,
  stageRows,
  tempStaging,
  type StagedPlace,
  type TestEvent,
} from '../../../../test/support/staged-days.ts';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { runRow } from '../../../../test/support/run-table-rows.ts';
import { createTestRun, type TestRun } from '../../../../test/support/leased-run.ts';
import { seededRandom } from '../../../../test/support/draw.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

interface TempPlace extends StagedPlace, AsyncDisposable {}

async function tempPlace(): Promise<TempPlace> {
  return { ...(await tempStaging()), runStore: chdb.store };
}

const days = {
  '2024-03-02': eventsOf('run-1', '2024-03-02', 95),
  '2024-03-01': eventsOf('run-1', '2024-03-01', 430),
  '2024-03-05': eventsOf('run-1', '2024-03-05', 10),
};
const all = Object.values(days).flat();

/** Time passes during sleeps only. */
function testTime(): Pick<LoadDeps, 'clock' | 'sleep'> & { readonly slept: number[] } {
  let now = Date.parse('2026-11-20T10:00:00Z');
  const slept: number[] = [];
  return {
    slept,
    clock: { now: () => now },
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      slept.push(ms);
      now += ms;
      await new Promise((done) => setImmediate(done));
      signal.throwIfAborted();
    },
  };
}

function loadDeps(target: Target, place: StagedPlace, more: Partial<LoadDeps> = {}): LoadDeps {
  const { staging, runStore } = place;
  return { target, staging, runStore, frameEvents: 10, ...testTime(), failpoint: () => {}, random: () => 0.5, ...more };
}

function httpTarget(url: string): Target {
  return openHttpTarget({ url, apiKey: 'phc_test', runId: 'run-1', request: directRequest(5000) });
}

function identities(events: Iterable<SentEvent | TestEvent>): string[] {
  return [...events]
    .map((event) => JSON.stringify([event.uuid, event.event, event.distinct_id, String(microsOf(event.timestamp))]))
    .toSorted();
}

function sums(test: TestRun): { accepted: number; rejected: number; open: number } {
  const states = [...test.days.values()];
  return {
    accepted: states.reduce((sum, day) => sum + day.accepted, 0),
    rejected: states.reduce((sum, day) => sum + day.rejected, 0),
    open: states.filter((day) => day.framesLoaded < day.frames).length,
  };
}

async function rejectedRecords(staging: Staging, run: string): Promise<RejectedRecord[]> {
  const records: RejectedRecord[] = [];
  for (const { key } of await staging.list(`${run}/rejected/`)) {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(key)) chunks.push(chunk);
    const lines = zstdDecompressSync(Buffer.concat(chunks)).toString('utf8').trimEnd().split('\n');
    records.push(...lines.map((line) => JSON.parse(line) as RejectedRecord));
  }
  return records;
}

/** A target that stores every event as often as it arrives, and knows which it has. */
function memoryTarget(more: Partial<Target> = {}): Target & { readonly events: string[] } {
  const stored: string[] = [];
  return {
    description: 'memory',
    events: stored,
    deliver: async (batch) => {
      for (const line of splitLines(batch.lines)) stored.push((JSON.parse(line) as TestEvent).uuid);
      return { accepted: batch.events, rejected: [] };
    },
    stored: async (batch) => {
      const uuids = splitLines(batch.lines).map((line) => (JSON.parse(line) as TestEvent).uuid);
      return new Set(uuids.filter((uuid) => stored.includes(uuid)));
    },
    settled: () => Promise.resolve(),
    reader: undefined,
    ...more,
  };
}

describe('loading', () => {
  it('sends every event once, day after day, and counts them', async () => {
    await using place = await tempPlace();
    await using service = await startBatchService(() => 'keep');
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 10);
    await createLoadStage(loadDeps(httpTarget(service.url), place))(test.hold().leased);
    expect(identities(service.stored.values())).toEqual(identities(all));
    expect(service.requests).toBe(54);
    expect(service.days).toEqual(['2024-03-01', '2024-03-02', '2024-03-05']);
    expect(sums(test)).toEqual({ accepted: 535, rejected: 0, open: 0 });
    expect(test.run.totals).toMatchObject({ loaded: 535, rejected: 0 });
    expect(test.run.progress.load).toMatchObject({ done: 535, total: 535, partsDone: 3, partsTotal: 3 });
    expect(test.run.progress.load?.bytes).toBe(test.run.progress.load?.bytesTotal);
    expect(test.run.progress.load?.finishedAt).toBeDefined();
  });

  it('sends several batches of a day concurrently, never of two days', async () => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 10);
    const underWay: string[] = [];
    const seen = new Set<string>();
    const target = memoryTarget({
      deliver: async (batch) => {
        underWay.push(batch.day);
        seen.add(underWay.join());
        await new Promise((done) => setTimeout(done, 2));
        underWay.splice(underWay.indexOf(batch.day), 1);
        return { accepted: batch.events, rejected: [] };
      },
    });
    await createLoadStage(loadDeps(target, place))(test.hold().leased);
    const sets = [...seen].map((text) => text.split(','));
    expect(Math.max(...sets.map((set) => set.length))).toBe(4);
    expect(sets.filter((set) => new Set(set).size > 1)).toEqual([]);
  });

  it('sends batches that merge persons in the order of their time, concurrently with the others', async () => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    const day = '2024-03-01';
    // Every second of ten batches has an event that merges persons.
    const events = eventsOf('run-1', day, 100);
    for (let n = 13; n < 100; n += 20) events[n] = { ...(events[n] as TestEvent), event: '$identify' };
    await stageDays(test, place, { [day]: events }, 10);
    const arrived: number[] = [];
    let underWay = 0;
    let most = 0;
    const target = memoryTarget({
      deliver: async (batch) => {
        const first = JSON.parse(splitLines(batch.lines)[0] ?? '') as TestEvent;
        most = Math.max(most, (underWay += 1));
        // The later a batch begins, the sooner it arrives.
        await new Promise((done) => setTimeout(done, 30 - Number(first.properties['n']) / 5));
        arrived.push(Number(first.properties['n']) / 10);
        underWay -= 1;
        return { accepted: batch.events, rejected: [] };
      },
    });
    await createLoadStage(loadDeps(target, place))(test.hold().leased);
    expect(arrived.filter((batch) => batch % 2 === 1)).toEqual([1, 3, 5, 7, 9]);
    expect(arrived.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(most).toBeGreaterThan(1);
  });

  it.each([1, 2, 3, 4])('a service that misbehaves at random stores every event once (seed %i)', async (seed) => {
    const random = seededRandom(seed);
    const treatments: readonly Treatment[] = [
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 503, body: { detail: 'busy' } },
      { status: 500 },
      { status: 408 },
      'reset',
      'lose',
      { status: 413 },
    ];
    await using place = await tempPlace();
    await using service = await startBatchService((batch) => {
      const at = Math.floor(random() * treatments.length * 2);
      const treatment = treatments[at] ?? 'keep';
      // A single event is never too large here.
      return typeof treatment === 'object' && treatment.status === 413 && batch.length === 1 ? 'keep' : treatment;
    });
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 40);
    await createLoadStage(loadDeps(httpTarget(service.url), place, { frameEvents: 40 }))(test.hold().leased);
    expect(identities(service.stored.values())).toEqual(identities(all));
    expect(sums(test)).toEqual({ accepted: 535, rejected: 0, open: 0 });
    expect(test.waits.length).toBeGreaterThan(0);
    expect(test.run.waiting).toBeNull();
  });

  it('waits as long as the service says, and shows why', async () => {
    await using place = await tempPlace();
    await using service = await startBatchService((_batch, attempt) =>
      attempt === 1 ? { status: 429, headers: { 'retry-after': '90' }, body: { detail: 'Slow down.' } } : 'keep',
    );
    const test = createTestRun('run-1');
    await stageDays(test, place, { '2024-03-05': days['2024-03-05'] }, 10);
    const time = testTime();
    await createLoadStage(loadDeps(httpTarget(service.url), place, time))(test.hold().leased);
    expect(time.slept).toEqual([90_000]);
    expect(test.waits).toEqual([
      {
        reason: `${service.url}/batch/ answers 429: Slow down.; trying again at 10:01:30 UTC`,
        until: Date.parse('2026-11-20T10:01:30Z'),
      },
    ]);
  });

  it('keeps the requested speed', async () => {
    await using place = await tempPlace();
    const target = memoryTarget();
    const test = createTestRun('run-1', { eventsPerSecond: 100 });
    await stageDays(test, place, days, 10);
    const time = testTime();
    await createLoadStage(loadDeps(target, place, { ...time, inFlight: 1 }))(test.hold().leased);
    const seconds = time.slept.reduce((sum, ms) => sum + ms, 0) / 1000;
    expect(seconds).toBeGreaterThan(5.2);
    expect(seconds).toBeLessThan(5.4);
  });

  it('sends a second at a time if that is less than a batch, so that a small import can be paused too', async () => {
    await using place = await tempPlace();
    const sizes: number[] = [];
    const target = memoryTarget({
      deliver: async ({ events }) => {
        sizes.push(events);
        return { accepted: events - 1, rejected: [{ index: 1, code: 'bad', detail: 'not so' }] };
      },
    });
    const test = createTestRun('run-1', { eventsPerSecond: 5, rejectedMax: 1 });
    await stageDays(test, place, { '2024-03-05': days['2024-03-02'].slice(0, 12) }, 100);
    const time = testTime();
    await createLoadStage(loadDeps(target, place, { ...time, frameEvents: 100 }))(test.hold().leased);
    expect(sizes).toEqual([5, 5, 2]);
    expect(sums(test)).toEqual({ accepted: 9, rejected: 3, open: 0 });
    const places = (await rejectedRecords(place.staging, 'run-1')).map(({ place }) => place);
    expect(places.map((place) => place?.split(' ', 2).join(' '))).toEqual(['event 2', 'event 7', 'event 12']);
    expect(time.slept.filter((ms) => ms === 1000)).toHaveLength(2);
  });
});

describe('events that the target rejects', () => {
  const refuseN =
    (refused: (n: number) => boolean) =>
    (batch: readonly SentEvent[]): Treatment => {
      const errors = batch.flatMap((event, index) =>
        refused(Number(event.properties['n']))
          ? [{ attr: `batch[${index}].properties`, code: 'bad', detail: 'not so' }]
          : [],
      );
      return errors.length === 0 ? 'keep' : { status: 400, body: { code: 'invalid', detail: 'some are bad', errors } };
    };

  it('are stored with their reason, and the others are loaded', async () => {
    await using place = await tempPlace();
    const bad = (n: number): boolean => n % 25 === 7;
    await using service = await startBatchService(refuseN(bad));
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 50);
    await createLoadStage(loadDeps(httpTarget(service.url), place, { frameEvents: 50 }))(test.hold().leased);
    const refused = all.filter((event) => bad(Number(event.properties['n'])));
    expect(identities(service.stored.values())).toEqual(identities(all.filter((event) => !refused.includes(event))));
    expect(sums(test)).toEqual({ accepted: 535 - refused.length, rejected: refused.length, open: 0 });
    const records = await rejectedRecords(place.staging, 'run-1');
    expect(identities(records.map(({ original }) => JSON.parse(original) as TestEvent))).toEqual(identities(refused));
    expect(records[0]).toMatchObject({
      stage: 'load',
      code: 'bad',
      reason: 'not so',
      place: 'event 8 of batch 1 of 2024-03-01',
    });
    expect(test.run.totals).toMatchObject({ rejected: refused.length, rejected_events: refused.length });
  });

  it('fail the run if they exceed its limit, and a higher limit lets it continue', async () => {
    await using place = await tempPlace();
    await using service = await startBatchService(refuseN((n) => n % 2 === 0));
    const test = createTestRun('run-1', { rejectedMax: 0.2 });
    await stageDays(test, place, days, 10);
    const stage = createLoadStage(loadDeps(httpTarget(service.url), place));
    await expect(stage(test.hold().leased)).rejects.toThrow(RunFailedError);
    test.run = { ...test.run, options: { ...test.run.options, rejectedMax: 0.6 } };
    await stage(test.hold().leased);
    expect(sums(test)).toEqual({ accepted: 267, rejected: 268, open: 0 });
    expect(await rejectedRecords(place.staging, 'run-1')).toHaveLength(268);
  });
});

describe('a load that is interrupted', () => {
  it.each(['import_load_delivered', 'import_load_committed'])(
    'repeatedly at %s: a target that knows what it has gets every event once',
    async (step) => {
      await using place = await tempPlace();
      const target = memoryTarget();
      const test = createTestRun('run-1');
      await stageDays(test, place, days, 10);
      let crashes = 0;
      for (;;) {
        let left = 2;
        const failpoint = (name: string): void => {
          if (name === step && (left -= 1) === 0) throw new Error('killed');
        };
        try {
          await createLoadStage(loadDeps(target, place, { failpoint }))(test.hold().leased);
          break;
        } catch (error) {
          crashes += 1;
          if (crashes > 50 || !(error instanceof Error) || error.message !== 'killed') throw error;
        }
      }
      expect(crashes).toBeGreaterThan(2);
      expect(target.events.toSorted()).toEqual(all.map(({ uuid }) => uuid).toSorted());
      expect(sums(test)).toEqual({ accepted: 535, rejected: 0, open: 0 });
    },
  );

  it.each([
    ['as a retry', (run: Run): Run => ({ ...run, retries: 1 })],
    [
      'by a run of the source as it was before',
      (run: Run): Run => ({ ...run, options: { ...run.options, previousRun: 'run-0' } }),
    ],
  ])('or repeated, %s: nothing that the target has is sent again', async (_how, mark) => {
    await using place = await tempPlace();
    const target = memoryTarget();
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 10);
    const staged = structuredClone(test.days);
    await createLoadStage(loadDeps(target, place))(test.hold().leased);
    target.events.splice(100, 7);
    for (const [day, state] of staged) test.days.set(day, state);
    test.run = { ...mark(test.run), progress: {} };
    await createLoadStage(loadDeps(target, place))(test.hold().leased);
    expect(target.events.toSorted()).toEqual(all.map(({ uuid }) => uuid).toSorted());
    expect(sums(test)).toEqual({ accepted: 535, rejected: 0, open: 0 });
  });

  it('that was paused writes nothing more and continues where it was', async () => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 10);
    const { leased, lose } = test.hold();
    const target = memoryTarget();
    let batches = 0;
    const pausing: Target = {
      ...target,
      deliver: async (batch, signal) => {
        batches += 1;
        if (batches === 30) lose();
        signal.throwIfAborted();
        return target.deliver(batch, signal);
      },
    };
    await expect(createLoadStage(loadDeps(pausing, place))(leased)).rejects.toThrow(RunLostError);
    const before = structuredClone(test.days);
    await new Promise((done) => setTimeout(done, 20));
    expect(test.days).toEqual(before);
    await createLoadStage(loadDeps(target, place))(test.hold().leased);
    expect(target.events.toSorted()).toEqual(all.map(({ uuid }) => uuid).toSorted());
  });

  it('by a permanent error also stops the batches that wait', async () => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 10);
    let calls = 0;
    const target = memoryTarget({
      deliver: async () => {
        calls += 1;
        if (calls === 1) {
          await new Promise((done) => setTimeout(done, 30));
          throw new TargetError('the key is wrong');
        }
        throw new TargetWaitError('busy');
      },
    });
    const sleep: LoadDeps['sleep'] = (_ms, signal) =>
      new Promise((_done, fail) =>
        signal.addEventListener('abort', () => fail(signal.reason as Error), { once: true }),
      );
    const stage = createLoadStage(loadDeps(target, place, { sleep }));
    await expect(stage(test.hold().leased)).rejects.toThrow(TargetError);
  });

  it.each([
    ['is missing', 'got: 0 of 535 events of 2024-03', async () => {}],
    [
      'has lost rows',
      'got: 95 of 535 events',
      async (test: TestRun, place: StagedPlace) => {
        await stageDays({ ...test, days: new Map() }, place, { '2024-03-02': days['2024-03-02'] }, 10);
      },
    ],
  ])('fails before anything is sent if the table of the run %s', async (_what, message, restore) => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    await stageDays(test, place, days, 10);
    await place.runStore.runTables.drop({ projectId: test.run.projectId, runId: 'run-1' });
    await restore(test, place);
    const deliver = () => expect.unreachable('a batch');
    const stage = createLoadStage(loadDeps(memoryTarget({ deliver }), place));
    await expect(stage(test.hold().leased)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      advice: 'startAgain',
    });
  });
});

describe('what is sent', () => {
  const keyDay = 19_783;
  const start = keyDay * 86_400_000_000;

  it('is the content of the table, byte for byte, in the order of time, and for equal times in that of the source', async () => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    const run = { projectId: test.run.projectId, runId: 'run-1' };
    const exact = '{"big":12345678901234567890.1234567890123456789e400, "1" : 1.00,"text":"\\u00fc 😀 \u2028"}';
    // A link precedes the event of the same time that it concerns, regardless of names and ids.
    const rows = Array.from({ length: 47 }, (_, n) =>
      runRow(run, n, {
        keyDay,
        timestampMicros: start + Math.floor(n / 8) * 1000 + (n < 24 ? 1 : 0),
        event: n % 2 === 0 ? '$identify' : (['a "quoted"\n', 'Zoë'][n % 3] ?? 'seen'),
        distinctId: `\u0001 user ${(n * 7) % 5}`,
        properties: n % 4 === 0 ? exact : `{"n":${n}}`,
      }),
    );
    await stageRows(test, place, rows, 10);
    const sent: string[] = [];
    const target = memoryTarget({
      deliver: async (batch) => {
        sent.push(...batch.lines.toString().split('\n'));
        return { accepted: batch.events, rejected: [] };
      },
    });
    const deps = loadDeps(target, place, { inFlight: 1, pageBytes: 3000 });
    await createLoadStage(deps)(test.hold().leased);
    const time = (n: number): string => `2024-03-01T00:00:00.00${Math.floor(n / 8)}${n < 24 ? '001' : ''}Z`;
    const expected = rows.map(
      ({ uuid, event, distinctId, properties }, n) =>
        `{"uuid":"${uuid}","event":${JSON.stringify(event)},"distinct_id":${JSON.stringify(distinctId)},"timestamp":"${time(n)}","properties":${properties}}`,
    );
    expect(sent).toEqual(expected);
    expect(sums(test)).toEqual({ accepted: 47, rejected: 0, open: 0 });
  });

  it('is divided into pieces of at most 4 MiB', async () => {
    await using place = await tempPlace();
    const test = createTestRun('run-1');
    const run = { projectId: test.run.projectId, runId: 'run-1' };
    const properties = `{"text":"${'x'.repeat(900_000)}"}`;
    const rows = Array.from({ length: 12 }, (_, n) =>
      runRow(run, n, { keyDay, timestampMicros: start + n, properties }),
    );
    await stageRows(test, place, rows, 10);
    const sizes: number[] = [];
    const target = memoryTarget({
      deliver: async ({ events, lines }) => {
        expect(lines.length).toBeLessThan(4 << 20);
        sizes.push(events);
        return { accepted: events, rejected: [] };
      },
    });
    await createLoadStage(loadDeps(target, place, { inFlight: 1 }))(test.hold().leased);
    expect(sizes).toEqual([4, 4, 2, 2]);
  });
});
