import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { mergeEvents } from '../../src/contract/profile-events.ts';
import { createChecksum, createContentChecksum, withoutRunMark, type ContentKind } from '../../src/imports/checksum.ts';
import type { CheckResult } from '../../src/imports/run/results.ts';
import { noTotals } from '../../src/imports/run/run.ts';
import { openDirStaging } from '../../src/imports/staging/dir-staging.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../src/imports/staging.ts';
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

/** Writes what the check leaves behind: the files of the days, their rows, its result. */
export async function stageDays(
  test: TestRun,
  staging: Staging,
  days: Readonly<Record<string, readonly TestEvent[]>>,
  perFrame: number,
): Promise<void> {
  for (const [day, events] of Object.entries(days)) await stageDay(test, staging, day, events, perFrame);
  const events = Object.values(days).reduce((sum, each) => sum + each.length, 0);
  const result: CheckResult = {
    verdict: 'passed',
    problems: [],
    warnings: [],
    totals: { ...noTotals, records: events, events },
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
  await staging.write(stagingKeys.check(test.run.id), [Buffer.from(JSON.stringify(result))]);
}

async function stageDay(
  test: TestRun,
  staging: Staging,
  day: string,
  events: readonly TestEvent[],
  perFrame: number,
): Promise<void> {
  const chunks: Buffer[] = [];
  const frames: DayIndex['frames'][number][] = [];
  let start = 0;
  for (let at = 0; at < events.length; at += perFrame) {
    const slice = events.slice(at, at + perFrame);
    const text = Buffer.from(slice.map((event) => JSON.stringify(event)).join('\n'));
    const chunk = zstdCompressSync(text);
    const merges = slice.some(({ event }) => mergeEvents.has(event));
    frames.push({ start, end: start + chunk.length, events: slice.length, bytes: text.length, merges });
    start += chunk.length;
    chunks.push(chunk);
  }
  const index: DayIndex = { day, frames };
  await staging.write(stagingKeys.day(test.run.id, day), chunks);
  await staging.write(stagingKeys.dayIndex(test.run.id, day), [Buffer.from(JSON.stringify(index))]);
  const bytes = frames.reduce((sum, frame) => sum + frame.bytes, 0);
  test.days.set(day, {
    ...newDay,
    day,
    events: events.length,
    bytes,
    frames: frames.length,
    expected: JSON.stringify(expectedOf(events)),
  });
}

export function expectedOf(
  events: readonly TestEvent[],
  contents?: ContentKind,
): Record<string, { count: number; checksum: string; content: string }> {
  const names = [...new Set(events.map(({ event }) => event))];
  return Object.fromEntries(
    names.map((name) => {
      const checksum = createChecksum();
      const named = events.filter(({ event }) => event === name);
      const content = createContentChecksum(contents);
      for (const { uuid, distinct_id, timestamp, properties } of named) {
        const micros = microsOf(timestamp);
        checksum.add(uuid, distinct_id, micros);
        const identity = { uuid, distinctId: distinct_id, micros };
        content.add(identity, withoutRunMark(JSON.stringify(properties), String(properties['$import_run_id'])));
      }
      return [name, { count: named.length, checksum: checksum.digits(), content: content.digits() }];
    }),
  );
}

export function microsOf(timestamp: string): bigint {
  return BigInt(Date.parse(`${timestamp.slice(0, 23)}Z`)) * 1000n + BigInt(timestamp.slice(23, 26));
}
