/** Persons, groups, rows and warnings are the same, whether events are parsed or copied as bytes. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';
import { fetchImport } from '../../test/support/plugin-rows.ts';
import { scanLimits } from '../wire/batch/limits.ts';
import type { Lane } from '../log/eventlog.ts';
import { bumpConfigRevision } from '../stores/metadata/config-revision.ts';
import { createProject } from '../stores/metadata/projects.ts';
import { openRecord } from './open-record.ts';
import { changesPerson } from './spliced-person.ts';

const space = fc.constantFrom('', '', '', ' ', '\n\t');
const value = fc.constantFrom(
  '1',
  '2',
  '1.0',
  '12345678901234567890',
  '1e999',
  '-0',
  'null',
  '"x"',
  '"\\u0041\\n\\"}"',
  '"größe, 😀"',
  '{"n":[1,{"m":null}],"n":2}',
  '[]',
  'true',
);
const keys = fc.constantFrom(
  ['"a"', '"b"'],
  ['"b"', '"c"'],
  ['"b"', '"a"'],
  ['"a"', '"\\u0061"'],
  ['"10"', '"2"'],
  ['"a"', '"a"'],
  ['"__proto__"', '"constructor"', '"é"'],
  [],
);
const object = fc
  .tuple(keys, fc.array(value, { minLength: 3, maxLength: 3 }), space)
  .map(
    ([names, values, gap]) => `{${names.map((name, at) => `${gap}${name}${gap}:${gap}${values[at]}`).join(',')}${gap}}`,
  );
const names = fc.oneof(object, fc.constantFrom('["a"]', '["b",1,"c"]', '[]', '"a"'));
const said = fc.oneof({ weight: 6, arbitrary: object }, fc.constantFrom('null', '"text"', '7', '[1]'));
const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'Jürgen 😀', 'null', '"0"', 'x'.repeat(201));

function property(key: string, of: fc.Arbitrary<string>) {
  return of.map((text) => `"${key}":${text}`);
}
const idText = id.map((text) => JSON.stringify(text));
const properties = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: property('$set', said) },
      { weight: 4, arbitrary: property('$set_once', said) },
      { weight: 3, arbitrary: property('$unset', names) },
      { weight: 1, arbitrary: property('\\u0024set', said) },
      { weight: 2, arbitrary: property('$ip', fc.constant('"1.2.3.4"')) },
      { weight: 2, arbitrary: property('plain', value) },
      { weight: 1, arbitrary: fc.constantFrom('"$process_person_profile":false', '"$process_person_profile":"yes"') },
      { weight: 1, arbitrary: property('$groups', fc.constant('{"company":"acme"}')) },
    ),
    { maxLength: 3 },
  )
  .map((members) => members);
const event = fc
  .record({
    name: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('seen', '$pageview') },
      fc.constantFrom('$identify', '$create_alias', '$merge_dangerously', '$exception', '$groupidentify'),
    ),
    id,
    other: idText,
    // Few different ones, so that equal times are frequent.
    second: fc.nat(6),
    properties,
    beside: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, said),
  })
  .map(({ name, id: distinctId, other, second, properties: members, beside }) => {
    const merging =
      name === '$identify' ? [`"$anon_distinct_id":${other}`] : name.startsWith('$') ? [`"alias":${other}`] : [];
    const group = name === '$groupidentify' ? ['"$group_type":"company","$group_key":"acme","$group_set":{"a":1}'] : [];
    const isMerging = name === '$identify' || name === '$create_alias' || name === '$merge_dangerously';
    const all = [...members, ...(isMerging ? merging : []), ...group].join(',');
    const time = new Date(receivedAt - 60_000 - second * 1000).toISOString();
    const top = beside === null ? '' : `,"$set":${beside}`;
    return `{"event":"${name}","distinct_id":${JSON.stringify(distinctId)},"timestamp":"${time}","uuid":"UUID"${top},"properties":{${all}}}`;
  });

interface Delivery {
  readonly lane: Lane;
  readonly ip: boolean;
  readonly records: readonly (readonly string[])[];
}
const delivery: fc.Arbitrary<Delivery> = fc.record({
  lane: fc.constantFrom<Lane>('live', 'historical'),
  ip: fc.boolean(),
  records: fc.array(fc.array(event, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }),
});

/** Adds a plugin that observes events, so that all of them are parsed; it changes nothing. */
async function addObserver(bench: Bench): Promise<void> {
  await bench.addTransformation('test-fetch');
  await bench.db.updateTable('plugin_configs').set({ family: 'import-app' }).execute();
  const capabilities = JSON.stringify({ methods: ['onEvent'], scheduled_tasks: [], jobs: [] });
  await bench.db.updateTable('plugins').set({ capabilities }).execute();
}

async function addProject({ db }: Bench): Promise<number> {
  const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow();
  const { id } = await createProject(db, { organizationId, name: 'one more' }, receivedAt);
  await db.updateTable('plugin_configs').set({ project_id: id }).execute();
  await bumpConfigRevision(db);
  return id;
}

async function stateOf({ db, recording }: Bench, project: number) {
  const table = (
    name: 'persons' | 'person_distinct_ids' | 'groups' | 'group_types' | 'ingestion_warnings' | 'dead_letters',
  ) => db.selectFrom(name).selectAll().where('project_id', '=', project);
  return {
    persons: await table('persons').orderBy('uuid').execute(),
    ids: await table('person_distinct_ids').orderBy('distinct_id').execute(),
    groups: await table('groups').execute(),
    types: await table('group_types').execute(),
    warnings: await table('ingestion_warnings').orderBy('type').execute(),
    dead: await table('dead_letters').orderBy('id').execute(),
    rows: recording.rows.filter(({ projectId }) => projectId === project),
  };
}

const limits = { scan: scanLimits(100_000), inflatedBytesMax: 1_000_000 };

/** Counts events that take the fast path although they change a person. */
function countFastChanges(body: string, { lane, ip }: Delivery): number {
  const header = { projectId: 1, receivedAt, encoding: 'identity', events: 1, requestId: 'r' } as const;
  const from = ip ? { ...header, ip: '10.0.0.1' } : header;
  const { splicer, scan } = openRecord(lane, { seq: 1, header: from, body: Buffer.from(body) }, limits);
  let count = 0;
  for (let index = 0; index < scan.count; index++) {
    if (splicer.accepts(index) && changesPerson(scan, index)) count += 1;
  }
  return count;
}

it('persons, ids, groups, rows and warnings are the same whether events are parsed or copied as bytes', async () => {
  const options = { plugins: [fetchImport()], windowEventsMax: 15, logId: 'log' };
  await using fast = await createBench({ ...options, personCacheBytes: 3000 });
  await using slow = await createBench(options);
  await addObserver(slow);
  let made = 0;
  let sent = 0;
  let fastChanges = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(delivery, { minLength: 1, maxLength: 3 }), async (deliveries) => {
      const projectId = await addProject(fast);
      expect(await addProject(slow)).toBe(projectId);
      for (const each of deliveries) {
        for (const record of each.records) {
          const batch = record.map((text) => text.replace('UUID', uuid(++made)));
          const body = `{"batch":[${batch.join(',')}]}`;
          sent += batch.length;
          fastChanges += countFastChanges(body, each);
          const header = { projectId, events: batch.length, ...(each.ip ? { ip: '10.0.0.1' } : {}) };
          await fast.append(each.lane, body, header);
          await slow.append(each.lane, body, header);
        }
        await fast.drain();
        await slow.drain();
      }
      expect(await stateOf(fast, projectId)).toEqual(await stateOf(slow, projectId));
    }),
    { numRuns: 50 },
  );
  expect(fastChanges).toBeGreaterThan(sent / 10);
}, 240_000);
