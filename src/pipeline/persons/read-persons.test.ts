import { CompiledQuery, createQueryId, sql, type RootOperationNode } from 'kysely';
import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { writePersonChanges } from './person-rows.ts';
import { listPersons, personsByDistinctIds } from './read-persons.ts';

const projectId = 7;
const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Adds persons with two ids each. */
async function addPersons(db: Metadata, count: number): Promise<void> {
  const all = Array.from({ length: count }, (_, n) => n);
  const persons = all.map((n) => ({
    project_id: projectId,
    uuid: uuidOf(n),
    created_at_micros: n,
    is_identified: 0,
    registers: '{}',
  }));
  const distinctIds = all.flatMap((n) =>
    [`z${n}`, `a${n}`].map((distinct_id) => ({ project_id: projectId, distinct_id, person_uuid: uuidOf(n) })),
  );
  await db
    .transaction()
    .execute((tx) => writePersonChanges(tx, { persons, sameCreation: new Set(), distinctIds, merges: [] }));
}

/** Returns the query plans of all queries of `work`. */
async function plansOf(db: Metadata, explain: string, work: (db: Metadata) => Promise<unknown>): Promise<string[]> {
  const nodes: RootOperationNode[] = [];
  const watched = db.withPlugin({
    transformQuery: ({ node }) => {
      nodes.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  await work(watched);
  const plans: string[] = [];
  for (const node of nodes) {
    const query = db.getExecutor().compileQuery(node, createQueryId());
    const { rows } = await db.executeQuery(CompiledQuery.raw(`${explain} ${query.sql}`, [...query.parameters]));
    plans.push(JSON.stringify(rows));
  }
  return plans;
}

const page = { limit: 40, offset: 0 };
const someIds = Array.from({ length: 40 }, (_, n) => `a${n}`);

describe('persons with their ids', () => {
  it('ids are sorted, in any order of the store', async () => {
    await using store = await tempMetadata();
    await addPersons(store.db, 3);
    const persons = await listPersons(store.db, projectId, page);
    expect(persons.map((person) => person.distinct_ids)).toEqual([
      ['a2', 'z2'],
      ['a1', 'z1'],
      ['a0', 'z0'],
    ]);
  });

  it('SQLite looks up only the ids of the requested persons', async () => {
    await using store = await tempMetadata();
    await addPersons(store.db, 100);
    const plans = [
      ...(await plansOf(store.db, 'explain query plan', (db) => listPersons(db, projectId, page))),
      ...(await plansOf(store.db, 'explain query plan', (db) => personsByDistinctIds(db, projectId, someIds))),
    ].filter((plan) => plan.includes('person_distinct_ids'));
    expect(plans).toHaveLength(3);
    for (const plan of plans) expect(plan).toMatch(/\(project_id=\? AND (person_uuid|distinct_id)=\?\)/);
  });

  it('PostgreSQL looks up only the ids of the requested persons', async () => {
    const db = kyselyOf(await openPglite());
    try {
      await addPersons(db, 10_000);
      await sql`analyze person_distinct_ids`.execute(db);
      const plans = (await plansOf(db, 'explain', (watched) => listPersons(watched, projectId, page))).filter((plan) =>
        plan.includes('person_distinct_ids'),
      );
      expect(plans).toHaveLength(1);
      for (const plan of plans) expect(plan).toContain('Index Cond: ((project_id = 7) AND (person_uuid = ANY');
    } finally {
      await db.destroy();
    }
  });
});
