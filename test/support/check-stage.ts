import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { RunRef } from '../../src/stores/events/eventstore.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import { lineOf, readRunTable, runStoreOfTests } from './run-store.ts';
import { tempMetadata } from './metadata.ts';
import { createRunWriter } from '../../src/imports/run/run-writer.ts';
import type { LeasedRun, Segment } from '../../src/imports/run/leased-run.ts';
import type { StoredDay } from '../../src/imports/run/import-day.ts';
import type { CheckResult } from '../../src/imports/run/results.ts';
import type { RunOptions } from '../../src/imports/run/run.ts';
import { createRun } from '../../src/imports/run/run-store.ts';
import { claimRun } from '../../src/imports/run/claim-run.ts';
import { linesWithoutRecord } from '../../src/imports/source.ts';
import { openDirStaging } from '../../src/imports/staging/open-staging.ts';
import { stagingKeys, type RejectedRecord, type Staging } from '../../src/imports/staging.ts';
import { newRun, runOptions } from './runs.ts';
import type { CheckDeps } from '../../src/imports/stages/check/check-deps.ts';
import { createCheckStage } from '../../src/imports/stages/check/check-stage.ts';

/** What is compared of an event that is to be loaded. */
export interface LoadedEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** A run with a real metadata store and staging in a temp directory; its parts are staged by the test. */
export interface CheckTest extends AsyncDisposable {
  readonly staging: Staging;
  readonly runStore: RunStore;
  readonly run: RunRef;
  /** ms since the epoch: the clock of the stage. */
  readonly now: number;
  /** Stages a part: its lines, cut into segments of so many. */
  stage(key: string, lines: readonly string[], perSegment: number): Promise<void>;
  /** Another worker takes the run, as after a crash. */
  hold(signal?: AbortSignal): Promise<LeasedRun>;
  check(more?: Partial<CheckDeps>): Promise<CheckResult>;
  result(): Promise<CheckResult>;
  days(): Promise<readonly StoredDay[]>;
  /** All events to be loaded, in the order of loading, as text: digits and all. */
  lines(): Promise<string[]>;
  /** The same as objects. */
  events(): Promise<LoadedEvent[]>;
  rejected(): Promise<RejectedRecord[]>;
}

/** Runs of different tests have the same id, in separate projects. */
let projects = 0;
const start = Date.parse('2026-11-20T10:00:00.000Z');

export async function checkTest(options: Partial<RunOptions> = {}): Promise<CheckTest> {
  const metadata = await tempMetadata();
  const { db } = metadata;
  const dir = await mkdtemp(join(tmpdir(), 'millrace-check-'));
  const staging = await openDirStaging(dir);
  const projectId = (projects += 1);
  const run = { projectId, runId: 'r' };
  const runStore = await runStoreOfTests();
  await createRun(db, newRun({ id: 'r', projectId, options: { ...runOptions, ...options } }));
  let now = start;
  const hold = async (signal = new AbortController().signal): Promise<LeasedRun> => {
    // The lease of the one before has run out.
    const claim = await claimRun(db, (now += 100_000), 60_000);
    if (claim === undefined) throw new Error('expected the run to be due');
    return createRunWriter({ db, clock: { now: () => now }, signal }, claim);
  };
  const result = async (): Promise<CheckResult> =>
    JSON.parse((await bytesOf(staging, stagingKeys.check('r'))).toString()) as CheckResult;
  const lines = async (): Promise<string[]> =>
    (await readRunTable(runStore, run)).flatMap(({ rows }) => rows.map(lineOf));
  const days = async (): Promise<readonly StoredDay[]> => (await hold()).days();
  return {
    staging,
    runStore,
    run,
    now: start,
    hold,
    stage: async (key, lines, perSegment) => stagePart(await hold(), staging, key, lines, perSegment),
    check: async (more = {}) => {
      const deps = { staging, runStore, eventBytesMax: 1_000_000, clock: { now: () => start }, ...more };
      await createCheckStage(deps)(await hold());
      return await result();
    },
    result,
    days,
    lines,
    events: async () => (await lines()).map((line) => JSON.parse(line) as LoadedEvent),
    rejected: () => rejectedOf(staging),
    async [Symbol.asyncDispose]() {
      await metadata[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function stagePart(
  leased: LeasedRun,
  staging: Staging,
  key: string,
  lines: readonly string[],
  perSegment: number,
): Promise<void> {
  const part = (await leased.addParts([{ key, stable: true }])).find((each) => each.key === key);
  if (part === undefined) throw new Error('expected the part to be there');
  const segments: Segment[] = [];
  for (let from = 0; from < lines.length; from += perSegment) {
    const some = lines.slice(from, from + perSegment);
    const raw = Buffer.from(some.map((line) => `${line}\n`).join(''));
    const written = await staging.write(stagingKeys.segment('r', part.seq, segments.length), [zstdCompressSync(raw)]);
    segments.push({ records: some.length, continued: linesWithoutRecord(raw), rawBytes: raw.length, ...written });
  }
  await leased.savePart(part.seq, { segments, complete: true });
}

export async function bytesOf(staging: Staging, key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function rejectedOf(staging: Staging): Promise<RejectedRecord[]> {
  const all: RejectedRecord[] = [];
  for (const { key } of await staging.list('r/rejected/')) {
    const text = zstdDecompressSync(await bytesOf(staging, key)).toString();
    all.push(
      ...text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as RejectedRecord),
    );
  }
  return all;
}
