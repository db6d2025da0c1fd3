import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf } from '../../../../test/support/check-stage.ts';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { createTestRun, type TestRun } from '../../../../test/support/leased-run.ts';
import { countsOf, expectedCounts } from '../../../../test/support/run-table-rows.ts';
import {
  eventsOf,
  insertRows,
  microsOf,
  rowsOf,
  stageRows,
  tempStaging,
  type StagedPlace,
  type TestEvent,
} from '../../../../test/support/staged-days.ts';
import { createStoreInserter } from '../../../../test/support/store-ingest.ts';
import type { SentEvent } from '../../../../test/support/batch-service.ts';
import type { RunRef } from '../../../stores/events/eventstore.ts';
import { identityKey, storedOnDay } from '../../../stores/events/import-reads.ts';
import type { CheckResult } from '../../run/results.ts';
import type { RunOptions } from '../../run/run.ts';
import { stagingKeys } from '../../staging.ts';
import { RunLostError, type LeasedRun } from '../../run/leased-run.ts';
import { TargetWaitError, type LoadBatch, type TableTarget, type Target } from '../../target.ts';
import { splitLines } from '../../targets/lines.ts';
import { createLoadStage, type LoadDeps } from './load-stage.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const counts = { '2024-03-01': 25, '2024-03-31': 8, '2024-04-01': 12 };
const events = Object.entries(counts).flatMap(([day, count]) => eventsOf('run-1', day, count));
/** Every third event contains facts about a person, and some of these about a group. */
const factEvents = events
  .filter((_event, n) => n % 3 === 0)
  .map((event, n): TestEvent => {
    const groups = n % 4 === 0 ? { $groups: { team: n } } : {};
    return Object.assign({}, event, { properties: { ...event.properties, ...groups } });
  });
const groupFacts = factEvents.filter(({ properties }) => '$groups' in properties);

/** Sorts by component: no two ids are merged here. */
function inOrder(of: readonly TestEvent[]): TestEvent[] {
  return of.toSorted((a, b) => crc32(a.distinct_id) - crc32(b.distinct_id) || (a.timestamp < b.timestamp ? -1 : 1));
}

interface World extends AsyncDisposable {
  readonly test: TestRun;
  readonly place: StagedPlace;
  readonly target: Target & { readonly tables: TableTarget };
  /** Calls of the target. */
  readonly log: string[];
  /** uuids in order of arrival: facts about persons, and about groups. */
  readonly facts: string[];
  readonly groupFacts: string[];
  readonly sent: string[];
  isOpen: boolean;
  /** Called before and after everything that the target does. */
  step: (name: string) => void;
  load(more?: Partial<LoadDeps>, leased?: LeasedRun): Promise<void>;
  stored(): Promise<unknown>;
}

function readBatch({ lines }: Pick<LoadBatch, 'lines'>): TestEvent[] {
  return splitLines(lines).map((line) => JSON.parse(line) as TestEvent);
}

/** Expects facts to be unchanged. */
function readFacts(facts: Pick<LoadBatch, 'lines' | 'events'>): TestEvent[] {
  const found = readBatch(facts);
  expect(found).toHaveLength(facts.events);
  for (const each of found) {
    const known = [...factEvents, ...events].filter(({ uuid }) => uuid === each.uuid);
    expect(known.map(inMicros)).toContainEqual(inMicros(each));
  }
  return found;
}

function inMicros(event: TestEvent): object {
  return { ...event, timestamp: microsOf(event.timestamp) };
}

/** Time passes during sleeps only. */
function createTime(): Required<Pick<LoadDeps, 'clock' | 'sleep'>> {
  let now = Date.parse('2026-11-20T10:00:00Z');
  return {
    clock: { now: () => now },
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      now += ms;
    },
  };
}

/** Creates a run whose table is attached to the events of a real store. */
async function newWorld(options: Partial<RunOptions> = {}): Promise<World> {
  const temp = await tempStaging();
  const test = createTestRun('run-1', options);
  const ref: RunRef = { projectId: test.run.projectId, runId: 'run-1' };
  const place: StagedPlace = { ...temp, runStore: chdb.store };
  await stageRows(test, place, rowsOf(test.run, events), 10);
  await insertRows(test.run, place, rowsOf(test.run, factEvents), 'facts');
  const insert = createStoreInserter(chdb.store, ref.projectId);
  const time = createTime();
  const world: World = {
    test,
    place,
    log: [],
    facts: [],
    groupFacts: [],
    sent: [],
    isOpen: true,
    step: () => {},
    target: {
      description: 'the project',
      deliver: async (batch) => {
        world.step('deliver');
        await insert(readBatch(batch) as readonly SentEvent[]);
        world.sent.push(...readBatch(batch).map(({ uuid }) => uuid));
        world.log.push(`send ${batch.day} ${batch.events}`);
        world.step('delivered');
        return { accepted: batch.events, rejected: [] };
      },
      stored: async (batch) => {
        const given = readBatch(batch).map((event) => Object.assign(event, { distinctId: event.distinct_id }));
        const found = await storedOnDay(chdb.store, ref.projectId, batch.day, given);
        return new Set(given.filter((event) => found.has(identityKey(event))).map(({ uuid }) => uuid));
      },
      settled: () => Promise.resolve(),
      reader: undefined,
      tables: {
        isOpen: () => Promise.resolve(world.isOpen),
        admit: async (count) => {
          world.step('admit');
          world.log.push(`admit ${count}`);
          world.step('admitted');
        },
        attach: async (month) => {
          world.step('attach');
          await chdb.store.runTables.attach(ref, month);
          world.log.push(`attach ${month}`);
          world.step('attached');
          return true;
        },
        deliverFacts: async (of, facts) => {
          world.step('deliver facts');
          const found = readFacts(facts);
          (of === 'persons' ? world.facts : world.groupFacts).push(...found.map(({ uuid }) => uuid));
          world.log.push(`${of} ${facts.events}`);
          world.step('facts delivered');
        },
      },
    },
    load: async (more = {}, leased = test.hold().leased) => {
      const failpoint = (name: string): void => world.step(name);
      const deps = { target: world.target, ...place, frameEvents: 10, ...time, failpoint, random: () => 0.5 };
      await createLoadStage({ ...deps, ...more })(leased);
    },
    stored: () => countsOf(chdb.store, ref, 'shown'),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
  return world;
}

async function expectExact(world: World): Promise<void> {
  const { test } = world;
  const ref = { projectId: test.run.projectId, runId: 'run-1' };
  expect(await world.stored()).toEqual(expectedCounts(ref, rowsOf(test.run, events)));
  const rows = await chdb.store.query<{ shown: string }>(
    'SELECT count() AS shown FROM events FINAL WHERE project_id = {project:Int32}',
    { project: ref.projectId },
  );
  expect(rows).toEqual([{ shown: String(events.length) }]);
  for (const { day, frames, events: all } of test.days.values()) {
    expect(test.days.get(day)).toMatchObject({ framesLoaded: frames, accepted: all, rejected: 0 });
  }
  expect(test.run.totals.loaded).toBe(events.length);
}

function killAt(name: string, nth = 1): (step: string) => void {
  let left = nth;
  return (step) => {
    if (step === name && (left -= 1) === 0) throw new Error('killed');
  };
}

const uuidsOf = (of: readonly TestEvent[]): string[] => of.map(({ uuid }) => uuid);
const admittedIn = (log: readonly string[]): number =>
  log.filter((entry) => entry.startsWith('admit ')).reduce((sum, entry) => sum + Number(entry.split(' ')[1]), 0);

describe('a target that attaches the table of the run', () => {
  it('admits and attaches month after month, and then delivers facts about groups and persons', async () => {
    await using world = await newWorld({ eventsPerSecond: 10 });
    await world.load();
    expect(world.log).toEqual([
      'admit 10',
      'admit 10',
      'admit 5',
      'admit 8',
      'attach 202403',
      'admit 10',
      'admit 2',
      'attach 202404',
      'groups 3',
      'groups 1',
      'persons 15',
    ]);
    expect(world.groupFacts).toEqual(uuidsOf(groupFacts));
    expect(world.facts).toEqual(uuidsOf(inOrder(factEvents)));
    await expectExact(world);
    expect(world.test.run.progress.load).toMatchObject({ done: 45, total: 45, partsDone: 3, partsTotal: 3 });
    expect(world.test.run.progress.load?.bytes).toBe(world.test.run.progress.load?.bytesTotal);
  });

  it('delivers every fact although a replica that is read lacks some of them at first', async () => {
    await using world = await newWorld();
    const { runTables } = chdb.store;
    const reads = new Map<string, number>();
    const orderedFacts: typeof runTables.orderedFacts = async (run, slice) => {
      const lines = await runTables.orderedFacts(run, slice);
      const place = JSON.stringify(slice);
      reads.set(place, (reads.get(place) ?? 0) + 1);
      return reads.get(place) === 1 ? lines.subarray(0, lines.indexOf('\n') + 1) : lines;
    };
    await world.load({ runStore: { ...chdb.store, runTables: { ...runTables, orderedFacts } } });
    expect(world.facts).toEqual(uuidsOf(inOrder(factEvents)));
    expect([...reads.values()]).toContain(2);
    await expectExact(world);
  });

  it('delivers the events themselves as facts if duplicates of them differ', async () => {
    await using world = await newWorld();
    const key = stagingKeys.check('run-1');
    const check = JSON.parse((await bytesOf(world.place.staging, key)).toString()) as CheckResult;
    await world.place.staging.write(key, [Buffer.from(JSON.stringify({ ...check, changed_duplicates: 1 }))]);
    await world.load();
    expect(world.facts).toEqual(uuidsOf(inOrder(events)));
    await expectExact(world);
  });

  it('admits at most 1,000 events at a time', async () => {
    await using world = await newWorld();
    const many = eventsOf('run-1', '2024-05-01', 2100);
    await stageRows(world.test, world.place, rowsOf(world.test.run, [...events, ...many]), 10);
    world.step = killAt('attach', 3);
    await expect(world.load()).rejects.toThrow('killed');
    expect(world.log.slice(-3)).toEqual(['admit 1000', 'admit 1000', 'admit 100']);
  });

  it('has every row once and every fact in order after kills between any two steps', async () => {
    await using world = await newWorld({ eventsPerSecond: 10 });
    const ordered = inOrder(factEvents);
    const killed: string[] = [];
    // Twice at each step.
    world.step = (name) => {
      if (killed.filter((each) => each === name).length === 2) return;
      killed.push(name);
      throw new Error('killed');
    };
    for (let isDone = false; !isDone;) {
      const before = world.facts.length;
      const outcome = await world.load({ sliceFacts: 4 }).catch((error: unknown) => error);
      const delivered = world.facts.slice(before);
      expect(delivered).toEqual(uuidsOf(ordered.filter(({ uuid }) => delivered.includes(uuid))));
      isDone = outcome === undefined;
      expect(outcome).toEqual(isDone ? undefined : new Error('killed'));
    }
    await expectExact(world);
    // The first deliveries of facts are in order too.
    expect([...new Set(world.facts)]).toEqual(uuidsOf(ordered));
    expect([...new Set(world.groupFacts)]).toEqual(uuidsOf(groupFacts));
    // Only the slice that a kill interrupted is delivered again.
    expect(world.facts.length).toBeLessThan(2 * ordered.length);
    expect(new Set(killed)).toEqual(
      new Set([
        'admit',
        'admitted',
        'import_events_admitted',
        'import_month_admitted',
        'attach',
        'attached',
        'import_month_attached',
        'deliver facts',
        'facts delivered',
        'import_facts_delivered',
        'import_load_delivered',
        'import_load_committed',
      ]),
    );
    // Events are admitted again only if the kill preceded the commit.
    const again = killed.filter((step) => step === 'admitted').length;
    expect(admittedIn(world.log)).toBeLessThanOrEqual(events.length + 10 * again);
  });

  it('shows what it waits for, and its progress while events are admitted', async () => {
    await using world = await newWorld({ eventsPerSecond: 10 });
    let refusals = 2;
    const admit: TableTarget['admit'] = async (count, signal) => {
      if (world.log.length === 2 && (refusals -= 1) >= 0) {
        throw new TargetWaitError('the agreement allows no more now', { retryAfterMs: 60_000 });
      }
      await world.target.tables.admit(count, signal);
    };
    const { tables } = world.target;
    const shown = new Map<string, unknown>();
    world.step = (name) => {
      const { progress, totals } = world.test.run;
      if (!shown.has(name)) shown.set(name, [progress.load?.done, progress.load?.partsDone, totals.loaded]);
    };
    await world.load({ target: { ...world.target, tables: { ...tables, admit } } });
    expect(world.test.waits.map(({ reason }) => reason)).toEqual([
      'the agreement allows no more now; trying again at 10:01:02 UTC',
      'the agreement allows no more now; trying again at 10:02:02 UTC',
    ]);
    // Admitted events do not count as loaded before their rows can be stored.
    expect(shown.get('import_events_admitted')).toEqual([20, 0, 0]);
    expect(shown.get('attach')).toEqual([33, 0, 33]);
    await expectExact(world);
  });

  it('stops between two admissions when the run is paused, and continues with the next one', async () => {
    await using world = await newWorld({ eventsPerSecond: 10 });
    const { leased, lose } = world.test.hold();
    world.step = (name) => {
      if (name === 'import_events_admitted' && world.log.length === 2) lose();
    };
    await expect(world.load({}, leased)).rejects.toThrow(RunLostError);
    expect(world.log).toEqual(['admit 10', 'admit 10']);
    world.step = () => {};
    await world.load();
    expect(world.log.slice(2, 5)).toEqual(['admit 5', 'admit 8', 'attach 202403']);
    expect(admittedIn(world.log)).toBe(events.length);
    await expectExact(world);
  });

  it('admits only what the project lacks when the run is retried', async () => {
    await using world = await newWorld();
    await createStoreInserter(chdb.store, world.test.run.projectId)(events.slice(3, 16));
    world.test.run = { ...world.test.run, retries: 1 };
    await world.load();
    expect(world.log.slice(0, 4)).toEqual(['admit 3', 'admit 4', 'admit 5', 'admit 8']);
    await expectExact(world);
  });
});

describe('a transformation that is enabled', () => {
  it('while a month is admitted: nothing of it is attached, all of it is sent', async () => {
    await using world = await newWorld({ eventsPerSecond: 10 });
    world.step = (name) => {
      if (name === 'import_events_admitted') world.isOpen = false;
    };
    await world.load();
    expect(world.log.filter((entry) => /^(attach|persons|groups)/.test(entry))).toEqual([]);
    expect(world.sent.toSorted()).toEqual(uuidsOf(events).toSorted());
    await expectExact(world);
  });

  it('between two months: the first stays as it is, the second is sent', async () => {
    await using world = await newWorld();
    world.step = (name) => {
      if (name === 'import_month_attached') world.isOpen = false;
    };
    await world.load();
    expect(world.facts).toEqual(uuidsOf(inOrder(factEvents.filter(({ timestamp }) => timestamp < '2024-04'))));
    // In the order of time: first the facts of the attached month, then the month that is sent.
    expect(world.log.findIndex((entry) => entry.startsWith('send'))).toBe(world.log.indexOf('persons 11') + 1);
    expect(world.sent.toSorted()).toEqual(uuidsOf(events.filter(({ timestamp }) => timestamp > '2024-04')).toSorted());
    await expectExact(world);
  });

  it.each(['import_facts_delivered', 'import_load_delivered', 'import_load_committed', 'deliver', 'delivered'])(
    'after a month is attached: it stays so, the next one is sent, also after a kill at %s',
    async (place) => {
      await using world = await newWorld();
      const kill = killAt(place);
      world.step = (name) => {
        if (name === 'import_month_attached') world.isOpen = false;
        if (!world.isOpen) kill(name);
      };
      await expect(world.load()).rejects.toThrow('killed');
      world.step = () => {};
      await world.load();
      expect([...new Set(world.facts)]).toEqual(
        uuidsOf(inOrder(factEvents.filter(({ timestamp }) => timestamp < '2024-04'))),
      );
      expect([...new Set(world.sent)].toSorted()).toEqual(
        uuidsOf(events.filter(({ timestamp }) => timestamp > '2024-04')).toSorted(),
      );
      await expectExact(world);
    },
  );

  it('after a kill that preceded the commit of an attached month: all of it is sent', async () => {
    await using world = await newWorld();
    world.step = killAt('attached');
    await expect(world.load()).rejects.toThrow('killed');
    world.isOpen = false;
    world.step = () => {};
    await world.load();
    expect(world.sent.toSorted()).toEqual(uuidsOf(events).toSorted());
    expect(world.facts).toEqual([]);
    await expectExact(world);
  });

  it('and disabled after a day was sent: the rows of its month do not replace what was sent', async () => {
    await using world = await newWorld();
    world.isOpen = false;
    world.step = killAt('import_load_committed');
    await expect(world.load()).rejects.toThrow('killed');
    world.isOpen = true;
    world.step = () => {};
    await world.load();
    expect(world.log.filter((entry) => !entry.startsWith('send 2024-03'))).toEqual([
      'admit 12',
      'attach 202404',
      'groups 1',
      'persons 4',
    ]);
    await expectExact(world);
  });

  it('while facts about persons are delivered: all of them are delivered', async () => {
    await using world = await newWorld();
    world.step = killAt('import_load_delivered');
    await expect(world.load({ sliceFacts: 4 })).rejects.toThrow('killed');
    world.isOpen = false;
    world.step = () => {};
    await world.load({ sliceFacts: 4 });
    expect([...new Set(world.facts)]).toEqual(uuidsOf(inOrder(factEvents)));
    expect(world.sent).toEqual([]);
    await expectExact(world);
  });
});
