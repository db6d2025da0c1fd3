import { afterAll } from 'vitest';
import { isoOfMicros } from '../../src/base/clock.ts';
import type { RunRef, StoreReader } from '../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../src/stores/events/rows.ts';
import { rowColumns, rowOf, type PageRow } from '../../src/stores/events/month-rows.ts';
import { runTableName, type RunTable } from '../../src/stores/events/run-table-names.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import { tempChdb, type TempChdb } from './chdb.ts';

let engine: Promise<TempChdb> | undefined;

/** The embedded engine of a test file, started on first use. Tests use separate projects. */
export async function runStoreOfTests(): Promise<RunStore> {
  engine ??= tempChdb();
  return (await engine).store;
}

afterAll(async () => {
  await (await engine)?.close();
  engine = undefined;
});

/**
 * Events of a run's table in the order of loading: days, and each one's rows. One query: reading day by day, as the service does with
 * tables that do not fit into memory, takes 8 ms a day.
 */
export async function readRunTable(
  store: StoreReader,
  run: RunRef,
  table: RunTable = 'rows',
): Promise<readonly { readonly day: string; readonly rows: readonly EventRow[] }[]> {
  const found = await store.query<PageRow & { day_text: string }>(
    `SELECT toString(day) AS day_text, ${rowColumns} FROM ${runTableName({ run, table })} FINAL
PREWHERE project_id = {project:Int32} ORDER BY day, timestamp, received_at, event, cityHash64(distinct_id), uuid`,
    { project: run.projectId },
  );
  const days = Map.groupBy(found, ({ day_text: day }) => day);
  return [...days].map(([day, rows]) => ({
    day,
    rows: rows.map((row) => Object.assign(rowOf(run.projectId, row), { importRun: run.runId })),
  }));
}

/** As it is sent: digits and all. */
export function lineOf({ uuid, event, distinctId, timestampMicros, properties }: EventRow): string {
  const timestamp = isoOfMicros(timestampMicros).replace(/000Z$/, 'Z');
  const fields = { uuid, event, distinct_id: distinctId, timestamp };
  return `${JSON.stringify(fields).slice(0, -1)},"properties":${properties}}`;
}
