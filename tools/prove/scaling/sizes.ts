/** What stored events and persons take on disk. */
import { sql } from 'kysely';
import { connectClickhouse } from '../../../src/stores/events/clickhouse/connect-clickhouse.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import type { ScalingCluster } from './cluster.ts';

export interface StoredSizes {
  /** Bytes of a stored event, in one copy. */
  readonly eventBytes: number;
  /** Bytes of a person in the metadata store, with its distinct id and indexes. */
  readonly personBytes: number;
}

export async function storedSizes({ storeUrl }: Pick<ScalingCluster, 'storeUrl'>, db: Metadata): Promise<StoredSizes> {
  const store = await connectClickhouse(storeUrl, { queryTimeoutMs: 60_000, migrates: false });
  try {
    const [found] = await store.query<{ bytes: string; stored: string }>(
      "SELECT sum(bytes_on_disk) AS bytes, sum(rows) AS stored FROM system.parts WHERE active AND table = 'events'",
      {},
    );
    const tables = sql<{ bytes: string }>`select sum(pg_total_relation_size(oid)) as bytes from pg_class
      where relkind = 'r' and relname in ('persons', 'person_distinct_ids')`;
    const bytes = Number((await tables.execute(db)).rows[0]?.bytes);
    const { count } = await db
      .selectFrom('persons')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return { eventBytes: Number(found?.bytes) / Number(found?.stored), personBytes: bytes / Number(count) };
  } finally {
    await store.close();
  }
}
