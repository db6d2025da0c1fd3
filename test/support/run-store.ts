import { afterAll } from 'vitest';
import { isoOfMicros } from '../../src/base/clock.ts';
import type { RunRef, StoreReader } from '../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../src/stores/events/rows.ts';
import { readRunTableDay, runTableDays, type RunRowKey } from '../../src/stores/events/run-table-reads.ts';
import type { RunTable } from '../../src/stores/events/run-table-names.ts';
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

/** Events of a run's table in the order of loading: days, and each one's rows. */
export async function readRunTable(
  store: StoreReader,
  run: RunRef,
  of: RunTable = 'rows',
): Promise<readonly { readonly day: string; readonly rows: readonly EventRow[] }[]> {
  const days: { day: string; rows: EventRow[] }[] = [];
  for (const { day } of await runTableDays(store, run)) {
    const rows: EventRow[] = [];
    let after: RunRowKey | undefined;
    do {
      const page = await readRunTableDay(store, run, day, { of, after, limit: 1000 });
      rows.push(...page.items);
      after = page.next;
    } while (after !== undefined);
    days.push({ day, rows });
  }
  return days;
}

/** As it is sent: digits and all. */
export function lineOf({ uuid, event, distinctId, timestampMicros, properties }: EventRow): string {
  const timestamp = isoOfMicros(timestampMicros).replace(/000Z$/, 'Z');
  const fields = { uuid, event, distinct_id: distinctId, timestamp };
  return `${JSON.stringify(fields).slice(0, -1)},"properties":${properties}}`;
}
