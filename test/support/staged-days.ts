import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseMicros } from '../../src/stores/events/micros.ts';
import { EventRowWriter, type EventRow } from '../../src/stores/events/rows.ts';
import type { RunTable } from '../../src/stores/events/run-table-names.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import { createChecksum, createContentChecksum, withoutRunMark, type ContentKind } from '../../src/imports/checksum.ts';
import type { CheckResult } from '../../src/imports/run/results.ts';
import { noTotals, type Run } from '../../src/imports/run/run.ts';
import { openDirStaging } from '../../src/imports/staging/open-staging.ts';
import { stagingKeys, type Staging } from '../../src/imports/staging.ts';
import { newDay, type TestRun } from './leased-run.ts';

export interface TestEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface TempStaging extends AsyncDisposable {
  readonly staging: Staging;
}

export async function tempStaging(): Promise<TempStaging> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-load-'));
  return {
    staging: await openDirStaging(dir),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Events of one day, ten milliseconds apart, of three names. */
export function eventsOf(run: string, day: string, count: number): TestEvent[] {
  const start = Date.parse(`${day}T00:00:00Z`);
  return Array.from({ length: count }, (_, n) => ({
    uuid: uuidOf(`${run} ${day} ${n}`),
    event: ['viewed', 'paid', 'left "early"'][n % 3] ?? '',
    distinct_id: `person-${n % 50}-ü`,
    timestamp: `${new Date(start + n * 10).toISOString().slice(0, -1)}${String(n % 1000).padStart(3, '0')}Z`,
    properties: { n, day, text: 'two\nlines', $import_run_id: run },
  }));
}

export function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export interface StagedPlace {
  readonly staging: Staging;
  readonly runStore: RunStore;
}

const dayMicros = 86_400_000_000;
/** Of the run, µs. */
const sourceStart = 1_764_000_000_000_000;

/** Rows of the table of a run: the event is that of record `number` of its source. */
export function rowsOf({ id, projectId }: Run, events: readonly TestEvent[]): EventRow[] {
  return events.map((event, number) => {
    const micros = Number(microsOf(event.timestamp));
    return {
      projectId,
      historical: true,
      receivedAtMicros: sourceStart + 8 * number,
      timestampMicros: micros,
      keyDay: Math.floor(micros / dayMicros),
      uuid: event.uuid,
      event: event.event,
      distinctId: event.distinct_id,
      properties: JSON.stringify(event.properties),
      importRun: id,
    };
  });
}

/** Writes what the check leaves behind: the table of the run, its days, its result. */
export async function stageDays(
  test: TestRun,
  place: StagedPlace,
  days: Readonly<Record<string, readonly TestEvent[]>>,
  frameEvents: number,
): Promise<void> {
  await stageRows(test, place, rowsOf(test.run, Object.values(days).flat()), frameEvents);
}

/** No two rows of one identity. */
export async function stageRows(
  test: TestRun,
  place: StagedPlace,
  rows: readonly EventRow[],
  frameEvents: number,
): Promise<void> {
  const { run } = test;
  await place.runStore.runTables.create({ projectId: run.projectId, runId: run.id });
  await insertRows(run, place, rows, 'rows');
  for (const [keyDay, of] of Map.groupBy(rows, (row) => row.keyDay)) {
    const day = new Date(keyDay * 86_400_000).toISOString().slice(0, 10);
    test.days.set(day, {
      ...newDay,
      day,
      events: of.length,
      bytes: of.reduce((sum, { properties }) => sum + properties.length + 150, 0),
      frames: Math.ceil(of.length / frameEvents),
      expected: JSON.stringify(expectedOf(of)),
    });
  }
  const result: CheckResult = {
    verdict: 'passed',
    problems: [],
    warnings: [],
    totals: { ...noTotals, records: rows.length, events: rows.length },
    first_time: null,
    last_time: null,
    days: {},
    events: [],
    errors: [],
    duplicates: 0,
    unmapped: { events: {}, properties: {} },
    identity: { distinct_ids: 50, identifies: 0, group_identifies: 0, ids_of_several_persons: [], busiest: [] },
    samples: [],
  };
  await place.staging.write(stagingKeys.check(run.id), [Buffer.from(JSON.stringify(result))]);
}

/** Into the table of a run, the last first. */
export async function insertRows(
  { id: runId, projectId }: Run,
  { runStore }: StagedPlace,
  rows: readonly EventRow[],
  table: RunTable,
): Promise<void> {
  const writer = new EventRowWriter();
  for (const row of rows.toReversed()) writer.write(row);
  await runStore.runTables.insert({ projectId, runId }, writer.take(), '0', { table });
}

export function expectedOf(
  rows: readonly EventRow[],
  contents?: ContentKind,
): Record<string, { count: number; checksum: string; content: string }> {
  const names = Map.groupBy(rows, ({ event }) => event);
  return Object.fromEntries(
    [...names].map(([name, named]) => {
      const checksum = createChecksum();
      const content = createContentChecksum(contents);
      for (const { uuid, distinctId, timestampMicros: micros, properties, importRun = '' } of named) {
        checksum.add(uuid, distinctId, micros);
        content.add({ uuid, distinctId, micros }, withoutRunMark(properties, importRun));
      }
      return [name, { count: named.length, checksum: checksum.digits(), content: content.digits() }];
    }),
  );
}

export function microsOf(timestamp: string): bigint {
  const micros = parseMicros(timestamp);
  if (micros === undefined) throw new Error(`expected a time, got ${timestamp}`);
  return micros;
}
