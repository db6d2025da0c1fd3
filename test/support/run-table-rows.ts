import { randomUUID } from 'node:crypto';
import type { RunRef } from '../../src/stores/events/eventstore.ts';
import { newProject } from '../conformance/event-store/event-store.ts';
import { importedCounts } from '../../src/stores/events/import-reads.ts';
import { EventRowWriter, type EventRow } from '../../src/stores/events/rows.ts';
import { runTableCounts } from '../../src/stores/events/run-table-reads.ts';
import type { RunTable } from '../../src/stores/events/run-table-names.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import { contentText, createChecksum, createContentChecksum, runMark } from '../../src/imports/checksum.ts';

export const allDays = { from: '1900-01-01', to: '2299-12-31' };
/** Of the run, µs. */
export const sourceStart = 1_764_000_000_000_000;

/** Record `number` of the source, as a converter writes it; of March 2024. `properties`: without the mark of the run. */
export function runRow(run: RunRef, number: number, more: Partial<EventRow> = {}): EventRow {
  const properties = (more.properties ?? `{"n":${number}}`).slice(0, -1) + runMark(run.runId);
  const { keyDay = 19_783 } = more;
  return {
    projectId: run.projectId,
    historical: true,
    receivedAtMicros: sourceStart + number,
    timestampMicros: keyDay * 86_400_000_000,
    keyDay,
    uuid: randomUUID(),
    event: 'seen',
    distinctId: 'user-1',
    importRun: run.runId,
    ...more,
    properties,
  };
}

export async function insertSegment(
  store: RunStore,
  run: RunRef,
  segment: string,
  rows: readonly EventRow[],
  table: RunTable = 'rows',
  isRepeated = false,
): Promise<void> {
  const writer = new EventRowWriter();
  for (const row of rows) writer.write(row);
  await store.runTables.insert(run, writer.take(), segment, { table, isRepeated });
}

export async function attachAll(store: RunStore, run: RunRef): Promise<number[]> {
  const months = (await store.runTables.partitions(run)).map(({ month }) => month);
  for (const month of months) await store.runTables.attach(run, month);
  return months;
}

export function unmarked(properties: string, { runId }: RunRef): string {
  return `${properties.slice(0, -runMark(runId).length)}}`;
}

/** Counts and checksums by day and name, computed here. */
export function expectedCounts(run: RunRef, rows: readonly EventRow[]) {
  const dayOf = ({ keyDay }: EventRow): string => new Date(keyDay * 86_400_000).toISOString().slice(0, 10);
  const cells = Map.groupBy(rows, (row) => JSON.stringify([dayOf(row), row.event]));
  const counts = [...cells].map(([cell, of]) => {
    const [day, event] = JSON.parse(cell) as [string, string];
    const [identities, contents] = [createChecksum(), createContentChecksum()];
    for (const { uuid, distinctId, timestampMicros: micros, properties } of of) {
      identities.add(uuid, distinctId, micros);
      contents.add({ uuid, distinctId, micros }, unmarked(properties, run));
    }
    return { day, event, count: of.length, checksum: identities.digits(), content: contents.digits() };
  });
  return counts.toSorted(byCell);
}

type Cell = { readonly day: string; readonly event: string };

function byCell(a: Cell, b: Cell): number {
  return a.day === b.day ? Buffer.compare(Buffer.from(a.event), Buffer.from(b.event)) : a.day < b.day ? -1 : 1;
}

/** Of every row (`rows`) or every identity (`events`) of the run's table, or of what `events` shows as the run's (`shown`). */
export async function countsOf(store: RunStore, run: RunRef, of: 'rows' | 'events' | 'shown') {
  const counts =
    of === 'shown'
      ? await importedCounts(store, run.projectId, { run: run.runId, ...allDays }, 'crc32')
      : await runTableCounts(store, run, allDays, { of, contents: 'crc32' });
  return counts.map((each) => Object.assign(each, { content: contentText('crc32', each.content) })).toSorted(byCell);
}

export function newRun(projectId = newProject()): RunRef {
  return { projectId, runId: randomUUID() };
}

export const hostileTexts = [
  '',
  `'; TRUNCATE TABLE events; --`,
  'nul\u0000byte',
  '\0',
  "tab\tquote'double\"back\\slash\\' tick`",
  '😀 𝒳 ümläut 中文 \u2028',
  '123456789012345678901234567890',
  'x'.repeat(70_000),
];
