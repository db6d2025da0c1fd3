import { sql } from 'kysely';
import { createMentions, type Mentions } from '../../base/mentions.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** Rows of the metadata store that contain events or samples of them, searched for ids of a person. */
export interface ConcernedRows {
  readonly deadLetters: readonly string[];
  readonly jobs: readonly string[];
  readonly samples: readonly number[];
  /** Hours of warnings whose samples mention an id; their counts stay. */
  readonly warnings: readonly { readonly type: string; readonly hour: string }[];
  /** The same of violations of the tracking plan. */
  readonly violations: readonly ViolationKey[];
}

type ViolationKey = Readonly<Record<(typeof violationKey)[number], string>>;
const violationKey = ['hour', 'event', 'property', 'rule'] as const;

const perPage = 500;

export async function findConcerned(db: Queries, projectId: number, ids: readonly string[]): Promise<ConcernedRows> {
  const mentions = createMentions(ids);
  return {
    deadLetters: await deadLettersOf(db, projectId, ids, mentions),
    jobs: await matching(pagesOf(db, 'jobs', 'payload', projectId), mentions),
    samples: (await matching(pagesOf(db, 'sample_events', 'event', projectId), mentions)).map(Number),
    warnings: await warningsOf(db, projectId, mentions),
    violations: await violationsOf(db, projectId, mentions),
  };
}

export async function removeConcerned(tx: Queries, projectId: number, found: ConcernedRows): Promise<void> {
  for (const [table, ids] of [
    ['dead_letters', found.deadLetters],
    ['jobs', found.jobs],
    ['sample_events', found.samples],
  ] as const) {
    for (let from = 0; from < ids.length; from += perPage) {
      const some = sql.join(ids.slice(from, from + perPage));
      await sql`delete from ${sql.table(table)} where project_id = ${projectId} and id in (${some})`.execute(tx);
    }
  }
  for (const { type, hour } of found.warnings) {
    const row = tx.updateTable('ingestion_warnings').set({ samples: '[]' }).where('project_id', '=', projectId);
    await row.where('type', '=', type).where('hour', '=', hour).execute();
  }
  for (const of of found.violations) {
    let row = tx.updateTable('tracking_plan_violations').set({ samples: '[]' }).where('project_id', '=', projectId);
    for (const column of violationKey) row = row.where(column, '=', of[column]);
    await row.execute();
  }
}

/** A dead letter of an id that was not read (null) is searched as text. */
async function deadLettersOf(
  db: Queries,
  projectId: number,
  ids: readonly string[],
  mentions: Mentions,
): Promise<readonly string[]> {
  const wanted = new Set(ids);
  const found: string[] = [];
  for (let after = ''; ;) {
    const rows = await db
      .selectFrom('dead_letters')
      .select(['id', 'distinct_id', 'original'])
      .where('project_id', '=', projectId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(perPage)
      .execute();
    for (const { id, distinct_id: distinctId, original } of rows) {
      const isOwn = distinctId !== null && wanted.has(distinctId);
      if (isOwn || mentions.in(Buffer.from(original).toString('utf8'))) found.push(id);
    }
    if (rows.length < perPage) return found;
    after = rows.at(-1)?.id ?? '';
  }
}

type Page = readonly { readonly id: string | number; readonly text: string }[];

/** Reads the rows of a table in the order of their ids. */
async function* pagesOf(
  db: Queries,
  table: 'jobs' | 'sample_events',
  column: string,
  projectId: number,
): AsyncGenerator<Page> {
  for (let after: string | number = table === 'jobs' ? '' : 0; ;) {
    const { rows } = await sql<Page[number]>`select id, ${sql.ref(column)} as text from ${sql.table(table)}
where project_id = ${projectId} and id > ${after} order by id limit ${perPage}`.execute(db);
    yield rows;
    if (rows.length < perPage) return;
    after = rows.at(-1)?.id ?? after;
  }
}

async function matching(pages: AsyncIterable<Page>, mentions: Mentions): Promise<string[]> {
  const found: string[] = [];
  for await (const page of pages) for (const { id, text } of page) if (mentions.in(text)) found.push(String(id));
  return found;
}

async function warningsOf(db: Queries, projectId: number, mentions: Mentions): Promise<ConcernedRows['warnings']> {
  const rows = await db
    .selectFrom('ingestion_warnings')
    .select(['type', 'hour', 'samples'])
    .where('project_id', '=', projectId)
    .execute();
  return rows.filter(({ samples }) => mentions.in(samples)).map(({ type, hour }) => ({ type, hour }));
}

async function violationsOf(db: Queries, projectId: number, mentions: Mentions): Promise<readonly ViolationKey[]> {
  const rows = await db
    .selectFrom('tracking_plan_violations')
    .select([...violationKey, 'samples'])
    .where('project_id', '=', projectId)
    .execute();
  return rows.filter(({ samples }) => mentions.in(samples));
}
