import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { tempMetadata } from './metadata.ts';
import { createRunWriter } from '../../src/imports/run/run-writer.ts';
import type { LeasedRun, Segment } from '../../src/imports/run/leased-run.ts';
import type { StoredDay } from '../../src/imports/run/import-day.ts';
import type { CheckResult } from '../../src/imports/run/results.ts';
import type { RunOptions } from '../../src/imports/run/run.ts';
import { createRun } from '../../src/imports/run/run-store.ts';
import { claimRun } from '../../src/imports/run/claim-run.ts';
import { openDirStaging } from '../../src/imports/staging/dir-staging.ts';
import { stagingKeys, type DayIndex, type RejectedRecord, type Staging } from '../../src/imports/staging.ts';
import { newRun, runOptions } from './runs.ts';
import { createCheckStage, type CheckDeps } from '../../src/imports/stages/check/check-stage.ts';

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
  /** ms since the epoch: the clock of the stage. */
  readonly now: number;
  /** Stages a part: its lines, cut into segments of so many. */
  stage(key: string, lines: readonly string[], perSegment: number): Promise<void>;
  /** Another worker takes the run, as after a crash. */
  hold(signal?: AbortSignal): Promise<LeasedRun>;
  check(more?: Partial<CheckDeps>): Promise<CheckResult>;
  result(): Promise<CheckResult>;
  days(): Promise<readonly StoredDay[]>;
  /** Frames of a day, each as its events. */
  frames(day: string): Promise<LoadedEvent[][]>;
  /** The same as text: digits and all. */
  lines(): Promise<string[]>;
  /** All events to be loaded, in the order of loading. */
  events(): Promise<LoadedEvent[]>;
  rejected(): Promise<RejectedRecord[]>;
}

const start = Date.parse('2026-11-20T10:00:00.000Z');

export async function checkTest(options: Partial<RunOptions> = {}): Promise<CheckTest> {
  const metadata = await tempMetadata();
  const { db } = metadata;
  const dir = await mkdtemp(join(tmpdir(), 'millrace-check-'));
  const staging = await openDirStaging(dir);
  await createRun(db, newRun({ id: 'r', options: { ...runOptions, ...options } }));
  let now = start;
  const hold = async (signal = new AbortController().signal): Promise<LeasedRun> => {
    // The lease of the one before has run out.
    const claim = await claimRun(db, (now += 100_000), 60_000);
    if (claim === undefined) throw new Error('expected the run to be due');
    return createRunWriter({ db, clock: { now: () => now }, signal }, claim);
  };
  const result = async (): Promise<CheckResult> =>
    JSON.parse((await bytesOf(staging, stagingKeys.check('r'))).toString()) as CheckResult;
  const frames = (day: string): Promise<LoadedEvent[][]> => framesOf(staging, day);
  const days = async (): Promise<readonly StoredDay[]> => (await hold()).days();
  return {
    staging,
    now: start,
    hold,
    stage: async (key, lines, perSegment) => stagePart(await hold(), staging, key, lines, perSegment),
    check: async (more = {}) => {
      const deps = { staging, eventBytesMax: 1_000_000, clock: { now: () => start }, ...more };
      await createCheckStage(deps)(await hold());
      return await result();
    },
    result,
    days,
    frames,
    lines: async () => {
      const all: string[] = [];
      for (const { day } of await days())
        all.push(...(await textsOf(staging, day)).flatMap((text) => text.split('\n')));
      return all;
    },
    events: async () => {
      const all: LoadedEvent[] = [];
      for (const { day } of await days()) for (const frame of await frames(day)) all.push(...frame);
      return all;
    },
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
    segments.push({ records: some.length, rawBytes: raw.length, ...written });
  }
  await leased.savePart(part.seq, { segments, complete: true });
}

export async function bytesOf(staging: Staging, key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function framesOf(staging: Staging, day: string): Promise<LoadedEvent[][]> {
  const index = JSON.parse((await bytesOf(staging, stagingKeys.dayIndex('r', day))).toString()) as DayIndex;
  const file = await bytesOf(staging, stagingKeys.day('r', day));
  return index.frames.map(({ start: from, end, events, bytes }) => {
    const lines = zstdDecompressSync(file.subarray(from, end)).toString();
    const parsed = lines.split('\n').map((line) => JSON.parse(line) as LoadedEvent);
    if (parsed.length !== events || Buffer.byteLength(lines) !== bytes) throw new Error('expected what the index says');
    return parsed;
  });
}

async function textsOf(staging: Staging, day: string): Promise<string[]> {
  const index = JSON.parse((await bytesOf(staging, stagingKeys.dayIndex('r', day))).toString()) as DayIndex;
  const file = await bytesOf(staging, stagingKeys.day('r', day));
  return index.frames.map((frame) => zstdDecompressSync(file.subarray(frame.start, frame.end)).toString());
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
