/** Records of events with existing rows: see RecordHeader. */
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Tap } from './live/tap.ts';
import type { Sightings } from './live/watch.ts';
import { listGroupTypes } from './persons/read-groups.ts';
import { definePlugin } from '../plugins/plugin.ts';
import { prepareReplay } from './prepare-replay.ts';
import type { RowsStored } from '../log/eventlog.ts';
import { createBench, uuid, type Bench } from '../../test/support/pipeline.ts';

const spoil = definePlugin({
  kind: 'transformation',
  slug: 'spoil',
  name: 'Spoil',
  description: '',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: () => () => null,
});

let bench: Bench;
let made = 0;
const published: Sightings[] = [];
const tap = new Tap();
beforeEach(async () => {
  made = 0;
  published.length = 0;
  bench = await createBench({ plugins: [spoil], live: { tap, publish: (seen) => published.push(seen) } });
});
afterEach(() => bench[Symbol.asyncDispose]());

const run = { $import_run_id: 'run-1' };

function event(name: string, distinctId: string, properties: object = {}, time = '2024-03-01T10:00:00.000Z') {
  return { event: name, distinct_id: distinctId, uuid: uuid(++made), timestamp: time, properties };
}

async function send(events: readonly object[], rowsStored: RowsStored | false = true): Promise<void> {
  if (rowsStored === 'persons') {
    const lines = events.map((each) => JSON.stringify(each)).join('\n');
    await bench.append('historical', lines, { events: events.length, rowsStored, encoding: 'zstd-ndjson' });
    return;
  }
  const body = { historical_migration: true, batch: events };
  await bench.append('historical', body, { events: events.length, ...(rowsStored && { rowsStored }) });
}

/** One event of each kind that changes persons and groups. */
const facts = () => [
  event('seen', 'device', { $set: { id: 12345, long: 1 }, ...run }),
  event('$identify', 'ann', { $anon_distinct_id: 'device', $set_once: { from: 'mail' }, ...run }),
  event('$identify', 'bob', { $anon_distinct_id: 'device', ...run }),
  event('$groupidentify', 'ann', { $group_type: 'company', $group_key: 'acme', $group_set: { size: 5 }, ...run }),
  event('seen', 'bob', { $groups: { team: 'red' }, $unset: ['x'], ...run }),
  event('$identify', 'eve', { $process_person_profile: false, ...run }),
  event('$groupidentify', 'ann', { $group_type: 'company', $group_key: 'acme', $group_set: 'no', ...run }),
];

async function profiles() {
  const { db, projectId } = bench;
  return {
    persons: await db.selectFrom('persons').selectAll().orderBy('uuid').execute(),
    ids: await db.selectFrom('person_distinct_ids').selectAll().orderBy('distinct_id').execute(),
    groups: await db.selectFrom('groups').selectAll().orderBy('group_key').execute(),
    types: await listGroupTypes(db, projectId),
    warnings: await bench.warnings(),
    letters: (await bench.deadLetters()).map(({ reason, event_uuid }) => [reason, event_uuid]).toSorted(),
  };
}

describe('events with existing rows', () => {
  it('change persons and groups like other events, with the same warnings and dead letters, and get no row', async () => {
    await send(facts(), false);
    await bench.drain();
    const expected = await profiles();
    expect(expected).toMatchObject({ types: [{ group_type: 'company' }, { group_type: 'team' }] });
    expect([expected.persons.length, expected.groups.length, expected.letters.length]).toEqual([2, 1, 2]);
    expect(expected.warnings).toHaveLength(3);
    expect(bench.recording.rows).toHaveLength(5);
    await bench[Symbol.asyncDispose]();

    bench = await createBench();
    made = 0;
    await send(facts());
    await bench.drain();
    expect(await profiles()).toEqual(expected);
    expect(bench.recording.rows).toEqual([]);
    expect(await bench.metrics.text()).not.toMatch(/^millrace_component_sent_events_total\{.* [1-9]/m);
  });

  it.each(['persons', 'groups'] as const)(
    '%s first: sent once for persons and once for groups, they have the same effect',
    async (first) => {
      await send(facts());
      await bench.drain();
      const expected = await profiles();
      await bench[Symbol.asyncDispose]();

      bench = await createBench();
      made = 0;
      await send(facts(), first);
      await bench.drain();
      const half = await profiles();
      expect([half.persons.length, half.groups.length]).toEqual(first === 'persons' ? [2, 0] : [0, 1]);
      made = 0;
      await send(facts(), first === 'persons' ? 'groups' : 'persons');
      await bench.drain();
      const byKind = (warnings: typeof expected.warnings) =>
        warnings.map(({ type, count }) => [type, count]).toSorted();
      const found = await profiles();
      expect({ ...found, warnings: byKind(found.warnings) }).toEqual({
        ...expected,
        warnings: byKind(expected.warnings),
      });
      expect(bench.recording.rows).toEqual([]);
    },
  );

  it('a fault of an event that is sent for both is reported once', async () => {
    const types = Array.from({ length: 6 }, (_, n) => `type ${n}`);
    const long = { $group_type: 'type 0', $group_key: 'k'.repeat(500), $group_set: {} };
    const events = [
      event('seen', 'ann', { $groups: Object.fromEntries(types.map((type) => [type, 'x'])), ...run }),
      event('$groupidentify', 'ann', { ...long, ...run }),
      event('seen', 'ann', { $process_person_profile: 'no', ...run }),
    ];
    for (const of of ['groups', 'persons'] as const) await send(events, of);
    await bench.drain();
    expect((await bench.warnings()).map(({ type, count }) => `${type} ${count}`).toSorted()).toEqual([
      'group_key_too_long 1',
      'invalid_process_person_profile 1',
      'too_many_group_types 1',
    ]);
  });

  it('bypass transformations, the live stream and observing plugins, and keep every digit', async () => {
    const id = await bench.addTransformation('spoil');
    const capabilities = JSON.stringify({ methods: ['onEvent'], scheduled_tasks: [], jobs: [] });
    await bench.db.updateTable('plugins').set({ capabilities }).execute();
    const of = { id: 1, projectId: bench.projectId, event: undefined, distinctId: undefined };
    tap.watch([{ ...of, stages: ['stored', 'transformed', 'dropped'], steps: true, perSecond: 100 }]);
    const line = `{"event":"seen","distinct_id":"ann","uuid":"${uuid(1)}","timestamp":"2024-03-01T10:00:00.000Z",
      "properties":{"$set":{"id":12345678901234567890},"$groups":{"team":1}}}`.replace('\n', '');
    await bench.append('historical', line, { rowsStored: 'persons', encoding: 'zstd-ndjson' });
    await bench.append('historical', `[${line}]`, { rowsStored: 'groups' });
    await bench.drain();
    const { registers } = await bench.db.selectFrom('persons').select('registers').executeTakeFirstOrThrow();
    expect(registers).toContain('12345678901234567890');
    expect(await listGroupTypes(bench.db, bench.projectId)).toHaveLength(1);
    expect(await bench.db.selectFrom('plugin_metrics').selectAll().where('config_id', '=', id).execute()).toEqual([]);
    expect(published.flatMap(({ seen }) => seen)).toEqual([]);
    tap.watch([]);
  });

  it('can be in a window with others, whose rows are stored', async () => {
    await send([event('seen', 'ann', { $set: { plan: 'old' } })]);
    await send([event('seen', 'ann', { $set: { plan: 'new' } }), event('seen', 'bob')], false);
    await send([event('$identify', 'ann', { $anon_distinct_id: 'bob' })]);
    await bench.drain();
    expect(bench.recording.inserts.map(({ token, rows }) => [/\d+-\d+$/.exec(token)?.[0], rows.length])).toEqual([
      ['0-3', 2],
    ]);
    expect(await bench.person('bob')).toMatchObject({ distinct_ids: ['ann', 'bob'], properties: { plan: 'new' } });
  });

  it.each([true, 'persons'] as const)(
    'one that cannot be stored becomes a dead letter, affects no other, and gets no row when it is replayed: %s',
    async (rowsStored) => {
      await sql`create trigger poison before insert on person_distinct_ids when new.distinct_id = 'p7'
      begin select raise(abort, 'poison'); end`.execute(bench.db);
      await send(
        Array.from({ length: 20 }, (_, n) => event('seen', `p${n}`, { $set: { n } })),
        rowsStored,
      );
      await bench.drain();
      expect((await bench.deadLetters()).map((row) => [row.reason, row.distinct_id])).toEqual([
        ['processing_failed', 'p7'],
      ]);
      expect(await bench.db.selectFrom('persons').select('uuid').execute()).toHaveLength(19);

      await sql`drop trigger poison`.execute(bench.db);
      const [letter] = await bench.db.selectFrom('dead_letters').selectAll().execute();
      if (letter === undefined) throw new Error('expected a dead letter');
      const replay = prepareReplay(letter, undefined, { requestId: 'replay', eventBytesMax: 10_000 });
      if (!replay.ok) throw new Error(replay.detail);
      const { lane, body, rowsStored: stored } = replay.batch;
      await bench.append(lane, Buffer.from(body).toString(), stored && { rowsStored: stored });
      await bench.drain();
      expect(await bench.person('p7')).toMatchObject({ properties: { n: 7 } });
      expect(bench.recording.rows).toEqual([]);
    },
  );

  it('change nothing once another worker has the slot', async () => {
    await bench.db.updateTable('slots').set({ epoch: 5 }).execute();
    await send(facts());
    const pipeline = bench.start();
    await pipeline.done;
    expect(await profiles()).toMatchObject({ persons: [], ids: [], groups: [], warnings: [], letters: [] });
  });
});
