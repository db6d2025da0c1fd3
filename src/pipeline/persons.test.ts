import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placeholderIds, placeholderUuid } from '../base/placeholder-ids.ts';
import { findGroup, listGroupTypes } from './persons/read-groups.ts';
import { createBench, uuid, type Bench } from '../../test/support/pipeline.ts';

let bench: Bench;
let made = 0;
beforeEach(async () => {
  made = 0;
  bench = await createBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

function event(name: string, distinctId: unknown, properties: object = {}, time = '2026-11-20T11:00:00Z') {
  return { event: name, distinct_id: distinctId, uuid: uuid(++made), timestamp: time, properties };
}

/** Appends each event in a separate request. */
async function send(...events: object[]): Promise<void> {
  for (const each of events) await bench.append('live', { batch: [each] });
  await bench.drain();
}
async function sendHistory(...events: object[]): Promise<void> {
  for (const each of events) await bench.append('historical', { batch: [each] });
  await bench.drain();
}
const identify = (id: string, anonymous: string, more: object = {}) =>
  event('$identify', id, { $anon_distinct_id: anonymous, ...more });

async function warningTypes(): Promise<string[]> {
  return (await bench.warnings()).map(({ type, count }) => `${type} ${count}`);
}

describe('merging', () => {
  it('two unknown ids become one identified person', async () => {
    await send(identify('user', 'device', { $set: { plan: 'team' } }));
    expect(await bench.person('device')).toMatchObject({
      distinct_ids: ['device', 'user'],
      is_identified: true,
      properties: { plan: 'team' },
    });
  });

  it('a known anonymous person gets the user id and keeps its properties', async () => {
    await send(event('seen', 'device', { $set: { a: 1 } }), identify('user', 'device', { $set: { b: 2 } }));
    const person = await bench.person('user');
    expect(person).toMatchObject({ distinct_ids: ['device', 'user'], is_identified: true, properties: { a: 1, b: 2 } });
    expect((await bench.person('device'))?.uuid).toBe(person?.uuid);
  });

  it('merging two known persons keeps the latest value of each property, the earlier created_at and all ids', async () => {
    await send(
      event('seen', 'device', { $set: { a: 'device', both: 'device' } }, '2026-01-01T00:00:00Z'),
      event('seen', 'user', { $set: { both: 'user' } }, '2026-02-01T00:00:00Z'),
      event('$create_alias', 'user', { alias: 'third' }),
      identify('user', 'device', { $set: { c: 3 } }),
    );
    expect(await bench.person('device')).toMatchObject({
      distinct_ids: ['device', 'third', 'user'],
      properties: { a: 'device', both: 'user', c: 3 },
      created_at: '2026-01-01T00:00:00.000000Z',
      is_identified: true,
    });
    expect(await bench.db.selectFrom('persons').select('uuid').execute()).toHaveLength(1);
  });

  it('an identified person is not merged into another by $identify, but by $merge_dangerously', async () => {
    await send(identify('one', 'anon1'), identify('two', 'anon2'), identify('one', 'two'));
    expect((await bench.person('two'))?.distinct_ids).toEqual(['anon2', 'two']);
    expect(await warningTypes()).toEqual(['cannot_merge_already_identified 1']);
    await send(event('$merge_dangerously', 'one', { alias: 'two' }));
    expect((await bench.person('anon2'))?.distinct_ids).toEqual(['anon1', 'anon2', 'one', 'two']);
  });

  const invalidIds = [
    ...placeholderIds,
    placeholderUuid,
    placeholderUuid.replaceAll('-', ''),
    '"null"',
    'NIL',
    { a: 1 },
    ['x'],
    true,
  ];

  it('a refused $identify marks its user as identified, so that a third user of the device does not take it over', async () => {
    await send(
      identify('one', 'device'),
      event('seen', 'two'),
      identify('two', 'device'),
      event('seen', 'three'),
      identify('three', 'two'),
    );
    expect((await bench.person('one'))?.distinct_ids).toEqual(['device', 'one']);
    expect(await bench.person('two')).toMatchObject({ distinct_ids: ['two'], is_identified: true });
    expect(await bench.person('three')).toMatchObject({ distinct_ids: ['three'], is_identified: true });
    expect(await warningTypes()).toEqual(['cannot_merge_already_identified 2']);
  });

  const imported = { $import_run_id: 'run' };

  it('a device of an import stays with its first user, and later users stay separate persons', async () => {
    await sendHistory(
      event('seen', 'kiosk', { $set: { a: 1 }, ...imported }, '2024-01-01T00:00:00Z'),
      event('$identify', 'u1', { $anon_distinct_id: 'kiosk', ...imported }, '2024-01-02T00:00:00Z'),
      event('$identify', 'u2', { $anon_distinct_id: 'kiosk', ...imported }, '2024-01-03T00:00:00Z'),
      event('seen', 'u3', imported, '2024-01-04T00:00:00Z'),
      event('$identify', 'u3', { $anon_distinct_id: 'kiosk', ...imported }, '2024-01-04T00:00:00Z'),
      event('$identify', 'u2', { $anon_distinct_id: 'own device of u2', ...imported }, '2024-01-05T00:00:00Z'),
    );
    expect(await bench.person('u1')).toMatchObject({ distinct_ids: ['kiosk', 'u1'], properties: { a: 1 } });
    expect(await bench.person('u2')).toMatchObject({ distinct_ids: ['own device of u2', 'u2'], is_identified: true });
    expect(await bench.person('u3')).toMatchObject({ distinct_ids: ['u3'], is_identified: true });
    expect(await warningTypes()).toEqual(['cannot_merge_already_identified 2']);
  });

  it('a device that has a user, live or of an earlier import, keeps it when history names another one', async () => {
    await send(identify('u1', 'kiosk'));
    await sendHistory(event('$identify', 'u2', { $anon_distinct_id: 'kiosk', ...imported }, '2020-01-02T00:00:00Z'));
    expect((await bench.person('kiosk'))?.distinct_ids).toEqual(['kiosk', 'u1']);
    expect(await bench.person('u2')).toMatchObject({ distinct_ids: ['u2'], is_identified: true });
  });

  it('users of one device are one person with the policy merge, and for live events', async () => {
    const merge = { ...imported, $import_identity: 'merge' };
    for (const [device, marks] of [
      ['tablet', merge],
      ['browser', {}],
    ] as const) {
      const link = (user: string) => event('$identify', user, { $anon_distinct_id: device, ...marks });
      await send(link(`${device} 1`), link(`${device} 2`));
      expect((await bench.person(device))?.distinct_ids).toEqual([device, `${device} 1`, `${device} 2`]);
    }
  });

  it('ids that the source itself has joined are one person in any order of events, including known users', async () => {
    const joined = { ...imported, $import_identity: 'joined' };
    const join = (id: string, other: string) => event('$identify', id, { $anon_distinct_id: other, ...joined });
    await sendHistory(join('user', 'first'), join('second', 'before'), join('user', 'second'));
    expect((await bench.person('user'))?.distinct_ids).toEqual(['before', 'first', 'second', 'user']);
    expect(await warningTypes()).toEqual([]);
  });

  it.each(invalidIds)('the id %j does not identify, link or merge persons, and every event is stored', async (id) => {
    await send(
      event('$identify', 'alice', { $anon_distinct_id: id }),
      event('$create_alias', 'bob', { alias: id }),
      event('$identify', id, { $anon_distinct_id: 'device' }),
      event('seen', id),
    );
    expect((await bench.person('alice'))?.distinct_ids).toEqual(['alice']);
    expect((await bench.person('bob'))?.distinct_ids).toEqual(['bob']);
    expect(await bench.person('device')).toBeUndefined();
    expect(await warningTypes()).toEqual(['cannot_merge_with_illegal_distinct_id 3']);
    expect(bench.recording.rows).toHaveLength(4);
  });

  it('a person has at most 2,500 ids: a merge beyond that is refused with a warning, from either side, and its event is stored', async () => {
    const devices = Array.from({ length: 3000 }, (_, at) => `device ${at}`);
    await bench.append('live', { batch: devices.slice(0, 2000).map((device) => identify('user', device)) });
    await bench.drain();
    // By other windows and pipelines, which have to count what is stored.
    await bench.append('live', { batch: devices.slice(2000).map((device) => identify('user', device)) });
    await bench.drain();
    const { distinct_ids: ids, is_identified: isIdentified } = (await bench.person('user')) ?? {};
    expect([ids?.length, isIdentified]).toEqual([2500, true]);
    expect(await warningTypes()).toEqual(['cannot_merge_too_many_ids 501']);
    expect(bench.recording.rows).toHaveLength(3000);
    await send(
      event('seen', 'late'),
      event('$create_alias', 'late', { alias: 'user' }),
      event('$merge_dangerously', 'other', { alias: 'user' }),
      identify('user', 'device 0'),
    );
    expect(await warningTypes()).toEqual(['cannot_merge_already_identified 1', 'cannot_merge_too_many_ids 502']);
    for (const id of ['late', 'other']) expect((await bench.person(id))?.distinct_ids).toEqual([id]);
    expect((await bench.person('device 0'))?.distinct_ids).toHaveLength(2500);
    expect((await bench.person('device 2999'))?.distinct_ids).toBeUndefined();
  });

  it('merging with itself or with nothing changes nothing', async () => {
    await send(identify('user', 'user'), event('$identify', 'user', {}), event('$create_alias', 'user', { alias: '' }));
    expect(await bench.person('user')).toMatchObject({ distinct_ids: ['user'], is_identified: false });
    expect(await warningTypes()).toEqual([]);
  });

  it('a chain of merges within one batch and across batches ends in one person', async () => {
    await send(event('seen', 'a'), event('seen', 'b'), event('seen', 'c'), event('seen', 'd'));
    const batch = [
      event('$merge_dangerously', 'b', { alias: 'a' }),
      event('$merge_dangerously', 'c', { alias: 'b' }),
      event('$merge_dangerously', 'new', { alias: 'c' }),
      event('$merge_dangerously', 'd', { alias: 'new' }),
      event('seen', 'a', { $set: { last: true } }),
    ];
    await bench.append('live', { batch }, { events: batch.length });
    await bench.drain();
    const person = await bench.person('a');
    expect(person).toMatchObject({ distinct_ids: ['a', 'b', 'c', 'd', 'new'], properties: { last: true } });
    expect(await bench.db.selectFrom('persons').select('uuid').execute()).toEqual([{ uuid: person?.uuid }]);
    await bench.stop();
    await send(event('seen', 'b', { $set: { again: true } }));
    expect((await bench.person('d'))?.properties).toEqual({ again: true, last: true });
  });
});

describe('history that arrives late', () => {
  const history = [
    event('seen', 'p', { $set: { plan: 'team', city: 'Rome' }, $set_once: { first: '2024' } }, '2024-05-01T00:00:00Z'),
    event('seen', 'p', { $set: { plan: 'trial' }, $set_once: { first: '2021' } }, '2021-05-01T00:00:00Z'),
    event('seen', 'p', { $set: { plan: 'pro', seats: 3 }, $unset: ['city'] }, '2023-05-01T00:00:00Z'),
    event('seen', 'p', { $unset: ['seats'] }, '2023-06-01T00:00:00Z'),
  ];
  const orders = permutations([0, 1, 2, 3]);

  it('every order of arrival ends in the same person', async () => {
    expect(orders).toHaveLength(24);
    for (const [at, order] of orders.entries()) {
      await sendHistory(
        ...order.map((i) => Object.assign({}, history[i], { uuid: uuid(1000 + at * 10 + i), distinct_id: `p${at}` })),
      );
      expect(await bench.person(`p${at}`)).toMatchObject({
        properties: { plan: 'team', city: 'Rome', first: '2021' },
        created_at: '2021-05-01T00:00:00.000000Z',
      });
    }
  });

  it('persons and their properties do not depend on the order in which live and imported events and the $identify arrive', async () => {
    const key = fc.constantFrom('a', 'b');
    const values = fc.dictionary(key, fc.oneof(fc.nat(3), fc.constant(null)), { maxKeys: 2 });
    const said = fc.record({
      of: fc.constantFrom('device', 'user'),
      $set: values,
      $set_once: values,
      $unset: fc.array(key, { maxLength: 1 }),
      lane: fc.constantFrom('live' as const, 'historical' as const),
      order: fc.nat(),
      isWithNext: fc.boolean(),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 7 }), fc.nat(), async (all, identifiedAt) => {
        const arrive = async (who: string, inOrder: typeof all): Promise<unknown> => {
          let batch: object[] = [];
          const eventOf = ({ of, $set, $set_once, $unset }: (typeof all)[number], index: number) =>
            event('seen', `${of}-${who}`, { $set, $set_once, $unset }, `2026-11-1${index}T00:00:00Z`);
          for (const [at, each] of inOrder.entries()) {
            if (at === identifiedAt % (all.length + 1)) {
              await bench.append('live', { batch: [identifyOf(who)] });
            }
            batch.push(eventOf(each, all.indexOf(each)));
            if (each.isWithNext) continue;
            await bench.append(each.lane, { batch });
            batch = [];
          }
          await bench.append('historical', { batch: [...batch, identifyOf(who)] });
          await bench.drain();
          const person = await bench.person(`user-${who}`);
          const ids = person?.distinct_ids.map((id) => id.split('-')[0]);
          return { ids, properties: person?.properties, since: person?.created_at, is: person?.is_identified };
        };
        const identifyOf = (who: string) =>
          event('$identify', `user-${who}`, { $anon_distinct_id: `device-${who}` }, '2026-11-10T12:00:00Z');
        run += 1;
        const expected = await arrive(`${run}a`, all);
        const shuffled = all.toSorted((a, b) => a.order - b.order);
        expect(await arrive(`${run}b`, shuffled)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('an import of 2021 after live data changes nothing that is newer', async () => {
    await send(event('seen', 'p', { $set: { plan: 'team' } }));
    await sendHistory({ ...event('seen', 'p', {}, '2021-01-01T00:00:00Z'), $set: { plan: 'old', extra: 1 } });
    expect(await bench.person('p')).toMatchObject({
      properties: { plan: 'team', extra: 1 },
      created_at: '2021-01-01T00:00:00.000000Z',
    });
  });
});

function permutations(items: number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((each) => each !== item)).map((rest) => [item].concat(rest)),
  );
}

describe('what creates and changes a person', () => {
  it('a top-level $set wins over $set in the properties, and is stored there', async () => {
    await send({ ...event('seen', 'p', { $set: { a: 1, b: 1 } }), $set: { b: 2 }, $set_once: { c: 3 } });
    expect((await bench.person('p'))?.properties).toEqual({ a: 1, b: 2, c: 3 });
    expect(JSON.parse(bench.recording.rows[0]?.properties ?? '')).toEqual({
      $set: { a: 1, b: 2 },
      $set_once: { c: 3 },
    });
  });

  it('$process_person_profile false: no person is created, $set is removed and the flag stays', async () => {
    await send(event('seen', 'p', { $process_person_profile: false, $set: { a: 1 }, $unset: ['b'], x: 1 }));
    expect(await bench.person('p')).toBeUndefined();
    expect(bench.recording.rows[0]?.properties).toBe('{"$process_person_profile":false,"x":1}');
  });

  it.each(['$identify', '$create_alias', '$merge_dangerously', '$groupidentify', '$group_identify'])(
    '%s with the flag false is a dead letter',
    async (name) => {
      await send(event(name, 'p', { $process_person_profile: false, $anon_distinct_id: 'x', alias: 'x' }));
      expect(bench.recording.rows).toEqual([]);
      expect((await bench.deadLetters()).map((row) => row.reason)).toEqual([
        'invalid_event_when_process_person_profile_is_false',
      ]);
    },
  );

  it.each([[true], ['false'], [0], [null]])('the flag %j counts as true and is not stored', async (flag) => {
    await send(event('seen', 'p', { $process_person_profile: flag, x: 1 }));
    expect(await bench.person('p')).toBeDefined();
    expect(bench.recording.rows[0]?.properties).toBe('{"x":1}');
    expect(await warningTypes()).toEqual(flag === true ? [] : ['invalid_process_person_profile 1']);
  });

  it.each(['$exception'])('%s does not change the person', async (name) => {
    await send(event('seen', 'p', { $set: { a: 1 } }), event(name, 'p', { $set: { a: 2 } }));
    expect((await bench.person('p'))?.properties).toEqual({ a: 1 });
  });

  it.each([
    ['$performance_event', 'performance_event_dropped'],
    ['$$heatmap', 'heatmap_dropped'],
    ['$$client_ingestion_warning', 'client_ingestion_warning'],
  ])('%s is not an event: it is counted as a warning, is not stored and changes no person', async (name, type) => {
    await send(event(name, 'p', { $set: { a: 2 } }), event('seen', 'q'));
    expect(bench.recording.rows.map((row) => row.event)).toEqual(['seen']);
    expect(await bench.person('p')).toBeUndefined();
    expect(await warningTypes()).toEqual([`${type} 1`]);
  });

  it('a message of a client library is the detail of its warning', async () => {
    await send(event('$$client_ingestion_warning', 'p', { $$client_ingestion_warning_message: 'too many events' }));
    const { samples } = await bench.db.selectFrom('ingestion_warnings').select('samples').executeTakeFirstOrThrow();
    expect(JSON.stringify(samples)).toContain('too many events');
  });

  it.each([
    ['properties', '"properties":[]'],
    ['$set and $set_once', '"$set":[],"$set_once":[ ],"properties":{"a":1}'],
    ['maps among the properties', '"properties":{"$set":[],"$set_once":[],"$unset":[],"$groups":[]}'],
  ])('an empty list for %s counts as an empty map, as PHP sends it', async (_name, members) => {
    await bench.append('live', `{"batch":[{"event":"seen","distinct_id":"p","uuid":"${uuid(++made)}",${members}}]}`);
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.event)).toEqual(['seen']);
    expect((await bench.person('p'))?.properties).toEqual({});
    expect(await warningTypes()).toEqual([]);
  });

  it('an empty list for $group_set counts as an empty map', async () => {
    await send(event('$groupidentify', 'p', { $group_type: 'company', $group_key: 'acme', $group_set: [] }));
    expect(bench.recording.rows).toHaveLength(1);
    expect(await warningTypes()).toEqual([]);
  });

  it('an id of more than 200 characters is truncated between characters', async () => {
    await send(event('seen', '😀'.repeat(201)), event('seen', 'é'.repeat(200)));
    expect(bench.recording.rows.map((row) => row.distinctId)).toEqual(['😀'.repeat(200), 'é'.repeat(200)]);
    expect(await warningTypes()).toEqual(['distinct_id_truncated 1']);
    expect(await bench.person('😀'.repeat(200))).toBeDefined();
  });

  it.each(['__proto__', 'constructor', 'toString', 'a\u0000b', '\ud800', '1e3'])(
    'the id %j is accepted',
    async (id) => {
      const shown = id.replace('\0', '\ufffd').toWellFormed();
      await send(event('seen', id, { $set: JSON.parse(`{"__proto__":{"x":1}}`) as object }));
      expect(bench.recording.rows[0]?.distinctId).toBe(shown);
      expect(JSON.stringify((await bench.person(shown))?.properties)).toBe('{"__proto__":{"x":1}}');
    },
  );

  it('numbers of any size stay as sent in the event, the person and the group', async () => {
    const big = '12345678901234567890';
    const json = (name: string, members: string): string =>
      `{"batch":[{"event":"${name}","distinct_id":"p","uuid":"${uuid(++made)}","$set":{"top":${big}},"properties":{${members}}}]}`;
    for (const _ of [1, 2]) {
      await bench.append('live', json('seen', `"n":1e999,"$set":{"inner":${big},"a":1.5}`));
      await bench.append(
        'live',
        json('$groupidentify', `"$group_type":"t","$group_key":${big},"$group_set":{"n":${big}},"$unset":${big}`),
      );
      await bench.drain();
      await bench.stop();
    }
    expect(bench.recording.rows[0]?.properties).toBe(`{"n":1e999,"$set":{"inner":${big},"a":1.5,"top":${big}}}`);
    expect(JSON.stringify((await bench.person('p'))?.properties)).toBe(`{"a":1.5,"inner":${big},"top":${big}}`);
    const group = await findGroup(bench.db, bench.projectId, 0, big);
    expect(JSON.stringify(group?.group_properties)).toBe(`{"n":${big}}`);
  });

  it.each(['$set', '$groups', '$unset'])('a number as %s does not count as an object', async (key) => {
    await bench.append('live', `{"event":"seen","distinct_id":"p","properties":{"${key}":12345678901234567890}}`);
    await bench.drain();
    expect(await bench.deadLetters()).toEqual([]);
    expect((await bench.person('p'))?.properties).toEqual({});
    expect(await listGroupTypes(bench.db, bench.projectId)).toEqual([]);
  });

  it('numbers, objects and arrays as ids become their JSON text', async () => {
    await send(event('seen', 23), event('seen', { a: [1] }), event('seen', [1, 'x']));
    expect(bench.recording.rows.map((row) => row.distinctId)).toEqual(['23', '{"a":[1]}', '[1,"x"]']);
  });

  it('repeated requests change no person', async () => {
    const events = [
      event('seen', 'device', { $set: { a: 1 } }),
      identify('user', 'device', { $set: { b: 2 } }),
      event('$groupidentify', 'user', { $group_type: 'company', $group_key: 'acme', $group_set: { c: 3 } }),
    ];
    const state = async () => ({
      persons: await bench.db.selectFrom('persons').selectAll().execute(),
      ids: await bench.db.selectFrom('person_distinct_ids').selectAll().orderBy('distinct_id').execute(),
      groups: await bench.db.selectFrom('groups').selectAll().execute(),
      rows: bench.recording.read(),
    });
    await send(...events);
    const before = await state();
    await send(...events);
    expect(await state()).toEqual(before);
  });
});

describe('groups', () => {
  const groupEvent = (name: string, type: unknown, key: unknown, set: unknown, time?: string) =>
    event(name, 'p', { $group_type: type, $group_key: key, ...(set === undefined ? {} : { $group_set: set }) }, time);

  it.each(['$groupidentify', '$group_identify'])('%s sets group properties by event time', async (name) => {
    await send(
      groupEvent(name, 'company', 'acme', { plan: 'new', seats: 1 }, '2024-01-01T00:00:00Z'),
      groupEvent(name, 'company', 'acme', { plan: 'old', city: 'Rome' }, '2021-01-01T00:00:00Z'),
    );
    expect(await findGroup(bench.db, bench.projectId, 0, 'acme')).toEqual({
      group_type_index: 0,
      group_key: 'acme',
      group_properties: { city: 'Rome', plan: 'new', seats: 1 },
      created_at: '2021-01-01T00:00:00.000000Z',
    });
  });

  it('$set of a group event does not change the person and is not stored with the event', async () => {
    await send(event('$groupidentify', 'p', { $group_type: 'company', $group_key: 'acme', $set: { a: 1 } }));
    expect((await bench.person('p'))?.properties).toEqual({});
    expect(bench.recording.rows[0]?.properties).not.toContain('$set');
  });

  it('a project has at most five group types, in order of appearance', async () => {
    for (const type of ['a', '__proto__', 'c', 'constructor', 'e', 'f']) {
      await send(event('seen', 'p', { $groups: JSON.parse(`{${JSON.stringify(type)}:"k"}`) as object }));
    }
    await send(
      groupEvent('$groupidentify', 'g', 'k', { a: 1 }),
      groupEvent('$groupidentify', '__proto__', 'k', { a: 1 }),
    );
    expect(await listGroupTypes(bench.db, bench.projectId)).toEqual(
      ['a', '__proto__', 'c', 'constructor', 'e'].map((type, index) => ({ group_type: type, group_type_index: index })),
    );
    expect(await warningTypes()).toEqual(['too_many_group_types 2']);
    expect((await findGroup(bench.db, bench.projectId, 1, 'k'))?.group_properties).toEqual({ a: 1 });
    expect(bench.recording.rows).toHaveLength(8);
  });

  it.each([[['list']], ['text'], [7]])('$group_set %j is a dead letter', async (set) => {
    await send(groupEvent('$groupidentify', 'company', 'acme', set));
    expect((await bench.deadLetters()).map((row) => [row.reason, row.attr])).toEqual([
      ['invalid_group_set', 'properties.$group_set'],
    ]);
  });

  it.each([[null], [undefined], [{}]])('$group_set %j creates a group without properties', async (set) => {
    await send(groupEvent('$groupidentify', 'company', 7, set));
    expect((await findGroup(bench.db, bench.projectId, 0, '7'))?.group_properties).toEqual({});
  });

  it('a group key of more than 400 characters is not stored, but the event is', async () => {
    await send(groupEvent('$groupidentify', 'company', 'k'.repeat(401), { a: 1 }));
    expect(await warningTypes()).toEqual(['group_key_too_long 1']);
    expect(await bench.db.selectFrom('groups').selectAll().execute()).toEqual([]);
    expect(bench.recording.rows).toHaveLength(1);
  });
});
