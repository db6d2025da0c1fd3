import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertRows, newProject, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { firstSeen, mergePairs, profileEvents, type Arrival } from './profile-reads.ts';
import {
  countRunRows,
  mentionedGroupTypes,
  monthsOfProject,
  runCells,
  runDistinctIds,
  runGroups,
  runGroupTypes,
} from './run-rows.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const day = (text: string): number => Date.parse(text) / 86_400_000;
const march = { keyDay: day('2024-03-05') };
const of = (properties: object, runId = 'run-1'): { properties: string } => ({
  properties: JSON.stringify({ ...properties, $import_run_id: runId }),
});

describe('rows of an import run in the store', () => {
  it('counts its rows by day and name, hidden ones separately, and excludes those of others', async () => {
    const projectId = newProject();
    const shared = testRow(projectId, { ...march, event: 'shared' });
    await insertRows(chdb.store, `cells-${projectId}`, [
      { ...shared, properties: '{}' },
      { ...shared, ...of({}), receivedAtMicros: shared.receivedAtMicros + 1 },
      testRow(projectId, { ...march, event: 'own', ...of({}) }),
      testRow(projectId, { ...march, event: 'own', ...of({}, 'run-2') }),
      testRow(projectId, { keyDay: day('2024-05-01'), event: 'own', ...of({}) }),
      testRow(projectId, { ...march, event: 'live' }),
    ]);
    expect(await monthsOfProject(chdb.store, projectId)).toEqual([202_403, 202_405]);
    const month = { projectId, runId: 'run-1', month: 202_403 };
    expect(await runCells(chdb.store, month)).toEqual([
      { day: '2024-03-05', event: 'own', rows: 1, own: 1, all: 2 },
      { day: '2024-03-05', event: 'shared', rows: 1, own: 0, all: 1 },
    ]);
    expect(await countRunRows(chdb.store, month)).toBe(2);
  });

  it('lists its ids page by page, its groups and its group types', async () => {
    const projectId = newProject();
    const ids = ['a', 'b', 'ü', 'd'];
    const group = { $group_type: 'company', $group_key: 'acme', $group_set: {} };
    await insertRows(chdb.store, `ids-${projectId}`, [
      ...ids.map((distinctId) => testRow(projectId, { ...march, distinctId, ...of({ $groups: { team: 'x' } }) })),
      testRow(projectId, { ...march, distinctId: 'other', properties: '{"$groups":{"shop":"y"}}' }),
      testRow(projectId, { ...march, event: '$groupidentify', distinctId: 'a', ...of(group) }),
    ]);
    const month = { projectId, runId: 'run-1', month: 202_403 };
    expect(await runDistinctIds(chdb.store, month, '', 3)).toEqual(['a', 'b', 'd']);
    expect(await runDistinctIds(chdb.store, month, 'd', 3)).toEqual(['ü']);
    expect(await runGroups(chdb.store, month)).toEqual([{ type: 'company', key: 'acme' }]);
    expect(await runGroupTypes(chdb.store, month)).toEqual(['company', 'team']);
    expect(await mentionedGroupTypes(chdb.store, projectId, ['shop', 'team', 'none'])).toEqual(
      new Set(['shop', 'team']),
    );
  });
});

describe('stored events about persons', () => {
  it('are read in order of receipt, page by page, each once; plain events only as the first and the earliest', async () => {
    const projectId = newProject();
    const at = 1_750_000_000_000_000;
    const row = (n: number, properties: object, more: object = {}) =>
      testRow(projectId, {
        distinctId: 'a',
        uuid: `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`,
        receivedAtMicros: at + Math.floor(n / 3) * 1000,
        timestampMicros: at - n * 10,
        properties: JSON.stringify(properties),
        ...more,
      });
    const rows = [
      row(1, {}),
      ...[2, 3, 4, 5, 6, 7].map((n) => row(n, { $set: { n } })),
      row(8, { $process_person_profile: false }),
      row(9, { $process_person_profile: false }, { distinctId: 'anonymous' }),
      row(10, { $anon_distinct_id: 'anon' }, { event: '$identify' }),
      row(11, { alias: 12 }, { event: '$create_alias', distinctId: 'b' }),
    ];
    await insertRows(chdb.store, `persons-${projectId}`, rows);
    const seen = await firstSeen(chdb.store, projectId, ['a', 'b', 'anonymous'], {});
    expect(seen.map(({ distinctId }) => distinctId).sort()).toEqual(['a', 'b']);
    expect(seen.find(({ distinctId }) => distinctId === 'a')).toMatchObject({
      createdAt: at - 100,
      arrival: { receivedAt: at, micros: at - 20 },
    });
    const read: string[] = [];
    let after: Arrival | undefined;
    for (;;) {
      const page = await profileEvents(chdb.store, projectId, ['a'], { after, limit: 2, arrivals: {} });
      read.push(...page.map(({ uuid }) => String(Number(uuid.slice(-12)))));
      after = page.at(-1);
      if (after === undefined) break;
    }
    // Of one request, the earlier event comes first.
    expect(read).toEqual(['2', '5', '4', '3', '7', '6', '10']);
    await insertRows(chdb.store, `again-${projectId}`, [row(12, { $set: { n: 12 }, $import_run_id: 'run-again' })]);
    const arrivals = { 'run-again': at - 1 };
    const [again] = await profileEvents(chdb.store, projectId, ['a'], { after: undefined, limit: 1, arrivals });
    expect(again).toMatchObject({ receivedAt: at - 1, micros: at - 120 });
    expect(await mergePairs(chdb.store, projectId, ['anon', '12'])).toEqual(
      expect.arrayContaining([
        ['a', 'anon'],
        ['b', '12'],
      ]),
    );
  });
});
