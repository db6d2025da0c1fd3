/** Tests that the facts of events (imports/stages/check/rows/facts.ts) have the same effect as the events themselves. */
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBench, type Bench } from '../../test/support/pipeline.ts';
import { convertedRows, isConvertible } from '../../test/support/converted-rows.ts';
import { decodeRows } from '../../test/support/event-store-double.ts';
import { isoOfMicros } from '../base/clock.ts';
import { parseExactValues } from '../base/exact-json.ts';
import type { JsonObject } from '../base/json.ts';
import { isPlaceholderId } from '../base/placeholder-ids.ts';
import { otherIdIn } from '../wire/batch/other-id.ts';
import { groupEvents } from '../wire/contract/profile-events.ts';
import type { RowsStored } from '../log/eventlog.ts';
import { runMark } from '../imports/checksum.ts';
import { createSegmentRows, type EventSums } from '../imports/stages/check/rows/segment-rows.ts';
import { createComponents } from '../imports/stages/load/deliver-facts.ts';
import { createProject } from '../stores/metadata/projects.ts';
import { personUuid } from './persons/person.ts';
import { parseRegisters } from './persons/registers-text.ts';

const run = 'run-1';
const start = Date.parse('2024-03-01T10:00:00Z') * 1000;

/** An event of the source with its place. */
interface SourceEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  readonly micros: number;
  readonly place: number;
  /** JSON of the properties, without the mark of the run. */
  readonly text: string;
}

const ids = ['a', 'b', 'c', 'd', 'Zoë', 'null'];
const id = fc.constantFrom(...ids);
const value = fc.constantFrom('1', '2', 'null', '"x"', '12345678901234567890', '[1.50]', '{"y":-0}');
const values = fc
  .array(fc.tuple(fc.constantFrom('k', 'l', 'm'), value), { maxLength: 3 })
  .map((members) => `{${[...new Map(members)].map(([key, each]) => `"${key}":${each}`).join(',')}}`);
const names = fc.constantFrom('["k"]', '["l","k"]', '{"m":true}', '"k"');
const groups = fc.constantFrom('{"t1":"x"}', '{"t2":7,"t1":"y"}', '{"t3":""}', '{"t3":1,"t4":2,"t5":3}', '{"t6":"z"}');
const member = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('$set'), values) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('$set_once'), values) },
  fc.tuple(fc.constant('$unset'), names),
  fc.tuple(fc.constant('$groups'), groups),
  fc.tuple(fc.constant('$process_person_profile'), fc.constant('false')),
  fc.tuple(fc.constantFrom('$set', '$set_once', '$groups', 'n'), fc.constantFrom('3', '"text"', '[]')),
);
const none: [string, string][] = [];
const other = fc.oneof({ weight: 5, arbitrary: id.map((each) => JSON.stringify(each)) }, fc.constantFrom('""', '7'));
const named = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ event: 'seen', own: none }) },
  fc.constantFrom({ event: '$exception', own: none }, { event: '$pageview', own: none }),
  fc.record({
    event: fc.constant('$identify'),
    own: fc.tuple(other, fc.constantFrom('"merge"', '"joined"', '0')).map(([each, policy]): [string, string][] => [
      ['$anon_distinct_id', each],
      ['$import_identity', policy],
    ]),
  }),
  fc.record({
    event: fc.constantFrom('$create_alias', '$merge_dangerously'),
    own: other.map((each): [string, string][] => [['alias', each]]),
  }),
  fc.record({
    event: fc.constantFrom('$groupidentify', '$group_identify'),
    own: fc
      .tuple(fc.constantFrom('t1', 't2', 't7'), fc.oneof(values, fc.constant('"no"')))
      .map(([type, set]): [string, string][] => [
        ['$group_type', JSON.stringify(type)],
        ['$group_key', '"key"'],
        ['$group_set', set],
      ]),
  }),
);

interface Draft {
  readonly of: { readonly event: string; readonly own: [string, string][] };
  readonly id: string;
  /** Seconds after `start`. */
  readonly at: number;
  readonly members: readonly (readonly [string, string])[];
  /** Whether it belongs to the same record as the previous event. */
  readonly isSame: boolean;
  /** The source repeats the event this many positions earlier; 0 for a new event. */
  readonly repeats: number;
}
const draft: fc.Arbitrary<Draft> = fc.record({
  of: named,
  id,
  at: fc.nat(6),
  members: fc.array(member, { maxLength: 3 }),
  isSame: fc.boolean(),
  repeats: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(12)),
});

/** `repeated` returns the copy of an event that the source repeats. */
function historyOf(
  drafts: readonly Draft[],
  repeated = (before: SourceEvent, _own: SourceEvent): SourceEvent => before,
): SourceEvent[] {
  const events: SourceEvent[] = [];
  let record = 0;
  let inRecord = 0;
  for (const [index, { of, id: distinctId, at, members: given, isSame, repeats }] of drafts.entries()) {
    inRecord = isSame ? inRecord + 1 : 0;
    if (!isSame) record += 1;
    const members = new Map([...given, ...of.own].map(([key, text]) => [key, `"${key}":${text}`]));
    const own = {
      uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      event: of.event,
      distinctId,
      micros: start + at * 1_000_000,
      place: start + 8 * record + Math.min(7, inRecord),
      text: `{${[...members.values()].join(',')}}`,
    };
    const before = repeats === 0 ? undefined : events[index - repeats];
    events.push(before === undefined ? own : { ...repeated(before, own), place: own.place });
  }
  return events;
}

/** Returns events as the table of a run is read: one per identity, from its first place, in order of time. */
function inOrder(events: readonly SourceEvent[]): SourceEvent[] {
  const first = new Map<string, SourceEvent>();
  for (const each of events) {
    const key = JSON.stringify([each.uuid, each.event, each.distinctId]);
    const known = first.get(key);
    if (known === undefined || each.place < known.place) first.set(key, each);
  }
  const text = ({ event, distinctId, uuid }: SourceEvent): string => JSON.stringify([event, distinctId, uuid]);
  return [...first.values()].sort((a, b) => a.micros - b.micros || a.place - b.place || (text(a) < text(b) ? -1 : 1));
}

/** Returns the facts of each segment, the last one first, because threads end in any order. */
function factsOf(events: readonly SourceEvent[], perSegment: number): SourceEvent[] {
  const segment = createSegmentRows({ projectId: 1, runId: run, wantsFacts: true });
  const found: SourceEvent[] = [];
  for (let from = events.length - (events.length % perSegment); from >= 0; from -= perSegment) {
    const [ids, shapes] = [new Map<string, number>(), new Map<string, number>()];
    for (const [index, each] of events.slice(from, from + perSegment).entries()) {
      if (isConvertible(each) && index % 3 > 0) segment.addConverted(convertedRows([each], ids, shapes));
      else segment.add({ ...each, properties: parseExactValues(each.text) as JsonObject }, sumsOf(each));
    }
    const { facts } = segment.take(['']);
    for (const { receivedAtMicros: place, properties, ...row } of facts === undefined ? [] : decodeRows(facts)) {
      found.push({ ...row, place, text: properties.replace(/,?"\$import_run_id":"run-1"\}$/, '}') });
    }
  }
  return found;
}

function sumsOf({ micros, place }: SourceEvent): EventSums {
  return { micros, place, name: 0, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0 };
}

/** Returns the JSON of an event. Live events have an empty mark. */
function lineOf({ uuid, event, distinctId, micros, text }: SourceEvent, mark = runMark(run)): string {
  const fields = JSON.stringify({ uuid, event, distinct_id: distinctId, timestamp: isoOfMicros(micros) });
  const marked = mark === '' ? text : text === '{}' ? `{${mark.slice(1)}` : text.slice(0, -1) + mark;
  return `${fields.slice(0, -1)},"properties":${marked}}`;
}

let bench: Bench;
beforeAll(async () => {
  bench = await createBench({ windowEventsMax: 7 });
});
afterAll(() => bench[Symbol.asyncDispose]());

async function newProject(): Promise<number> {
  const { id: organizationId } = await bench.db.selectFrom('organizations').select('id').executeTakeFirstOrThrow();
  return (await createProject(bench.db, { organizationId, name: 'one more' }, 0)).id;
}

interface Sent {
  readonly live?: readonly SourceEvent[];
  readonly events: readonly SourceEvent[];
  /** `facts` are appended as a load delivers them. */
  readonly as: 'events' | 'facts';
  readonly perRecord: number;
  readonly times?: number;
}

/** Sorts events by component, and within each in order. */
function byComponent(events: readonly SourceEvent[]): SourceEvent[] {
  const components = createComponents();
  for (const { event, distinctId, text } of events) {
    const other = otherIdIn(event, parseExactValues(text) as JsonObject);
    if (other !== undefined && !isPlaceholderId(distinctId) && !isPlaceholderId(other))
      components.unite(distinctId, other);
  }
  const [pairs = []] = components.pairs(1000);
  const componentOf = new Map(Array.from({ length: pairs.length / 2 }, (_, at) => [pairs[2 * at], pairs[2 * at + 1]]));
  const hashOf = ({ distinctId }: SourceEvent): number => crc32(distinctId);
  const of = (event: SourceEvent): number => componentOf.get(hashOf(event)) ?? hashOf(event);
  return inOrder(events).toSorted((a, b) => of(a) - of(b));
}

async function send({ live = [], events, as, perRecord, times = 1 }: Sent): Promise<number> {
  const projectId = await newProject();
  const append = async (
    lane: 'live' | 'historical',
    of: readonly SourceEvent[],
    more: { readonly rowsStored?: RowsStored } = {},
  ) => {
    const isLines = more.rowsStored === 'persons';
    for (let from = 0; from < of.length; from += perRecord) {
      const some = of.slice(from, from + perRecord);
      const lines = some.map((each) => lineOf(each, lane === 'live' ? '' : undefined));
      await bench.append(lane, isLines ? lines.join('\n') : `[${lines.join(',')}]`, {
        ...(isLines && { encoding: 'zstd-ndjson' }),
        projectId,
        events: some.length,
        ...more,
      });
    }
  };
  await append('live', live);
  await bench.drain();
  const ofGroups = inOrder(events).filter(({ event, text }) => groupEvents.has(event) || text.includes('"$groups"'));
  for (let time = 0; time < times; time += 1) {
    if (as === 'events') await append('historical', inOrder(events));
    else {
      await append('historical', ofGroups, { rowsStored: 'groups' });
      await append('historical', byComponent(events), { rowsStored: 'persons' });
    }
  }
  return projectId;
}

/** Returns persons, sorted by the id that they were created for, and groups. */
async function profilesOf(projectId: number) {
  const { db } = bench;
  const own = await db.selectFrom('person_distinct_ids').selectAll().where('project_id', '=', projectId).execute();
  const rows = await db.selectFrom('persons').selectAll().where('project_id', '=', projectId).execute();
  const types = await db.selectFrom('group_types').selectAll().where('project_id', '=', projectId).execute();
  const ofGroups = await db.selectFrom('groups').selectAll().where('project_id', '=', projectId).execute();
  const warnings = await bench.warnings();
  const persons = rows.map((person) => {
    const distinctIds = own.filter((each) => each.person_uuid === person.uuid).map((each) => each.distinct_id);
    return {
      firstId: distinctIds.find((each) => personUuid(projectId, each) === person.uuid),
      distinctIds: distinctIds.toSorted(),
      createdAt: person.created_at_micros,
      isIdentified: person.is_identified,
      registers: registersOf(person.registers),
    };
  });
  return {
    persons: persons.toSorted((a, b) => (String(a.firstId) < String(b.firstId) ? -1 : 1)),
    types: types.map(({ name, type_index: index }) => `${name} ${index}`).toSorted(),
    groups: ofGroups
      .map((group) => [group.type_index, group.group_key, group.created_at_micros, registersOf(group.registers)])
      .toSorted(),
    merges: warnings
      .filter((each) => each.project_id === projectId && each.type.startsWith('cannot_merge'))
      .map(({ type, count }) => `${type} ${count}`)
      .toSorted(),
  };
}

function registersOf(text: string): string[] {
  return [...parseRegisters(text)].map((register) => JSON.stringify(register)).toSorted();
}

/** Returns the profiles after each of two imports. */
async function profilesAfter(one: Sent, other: Sent) {
  const projects = [await send(one), await send(other)] as const;
  await bench.drain();
  return [await profilesOf(projects[0]), await profilesOf(projects[1])] as const;
}

const drafts = fc.array(draft, { minLength: 1, maxLength: 40, size: 'max' });
const history = drafts.map((each) => historyOf(each));
const cut = fc.record({ perSegment: fc.integer({ min: 1, max: 20 }), perRecord: fc.integer({ min: 1, max: 9 }) });
const runs = { numRuns: 30 };

describe('the facts of events', () => {
  it('give the same persons and groups as the events', async () => {
    await fc.assert(
      fc.asyncProperty(history, cut, async (events, { perSegment, perRecord }) => {
        const whole = { events, as: 'events', perRecord } as const;
        const facts = { events: factsOf(events, perSegment), as: 'facts', perRecord } as const;
        const [expected, found] = await profilesAfter(whole, facts);
        expect(found).toEqual(expected);
      }),
      runs,
    );
  });

  it('give the same after live events, and when delivered twice', async () => {
    const before = fc.array(draft, { maxLength: 8 }).map((each) => historyOf(each));
    await fc.assert(
      fc.asyncProperty(history, before, cut, async (events, early, { perSegment, perRecord }) => {
        const live = early.map((each) => ({ ...each, uuid: each.uuid.replace('4000', '4001') }));
        // Live events may have merged ids of several components, whose order then matters.
        const whole = { live, events, as: 'facts', perRecord, times: 2 } as const;
        const facts = { ...whole, events: factsOf(events, perSegment) };
        const [expected, found] = await profilesAfter(whole, facts);
        expect(found).toEqual(expected);
      }),
      runs,
    );
  });

  it('give the same if copies of an event differ and the stored rows of their ids replace the facts', async () => {
    const changed = drafts.map((each) =>
      historyOf(each, ({ uuid, event, distinctId }, own) => ({ ...own, uuid, event, distinctId })),
    );
    await fc.assert(
      fc.asyncProperty(changed, cut, async (events, { perSegment, perRecord }) => {
        const stored = inOrder(events);
        const kept = new Set(stored);
        const ids = new Set(events.filter((each) => !kept.has(each)).map(({ distinctId }) => distinctId));
        const facts = factsOf(events, perSegment).filter(({ distinctId }) => !ids.has(distinctId));
        const corrected = [...facts, ...stored.filter(({ distinctId }) => ids.has(distinctId))];
        const whole = { events: stored, as: 'events', perRecord } as const;
        const [expected, found] = await profilesAfter(whole, { events: corrected, as: 'facts', perRecord });
        expect(found).toEqual(expected);
      }),
      runs,
    );
  });

  it('give the same once and twice if no two ids have changes at the same time', async () => {
    const apart = history.map((events) =>
      events.map((each) => ({ ...each, micros: each.micros + ids.indexOf(each.distinctId) })),
    );
    await fc.assert(
      fc.asyncProperty(apart, cut, async (events, { perSegment, perRecord }) => {
        const once = { events: factsOf(events, perSegment), as: 'facts', perRecord } as const;
        const [expected, found] = await profilesAfter(once, { ...once, times: 2 });
        // Refused merges are refused again.
        expect({ ...found, merges: [] }).toEqual({ ...expected, merges: [] });
      }),
      runs,
    );
  });
});
