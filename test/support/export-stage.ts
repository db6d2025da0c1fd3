import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tempMetadata } from './metadata.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createRunWriter, type RunWriter } from '../../src/imports/run/run-writer.ts';
import { readSegment } from '../../src/imports/stages/check/segment/read-segment.ts';
import { createRun, getRun } from '../../src/imports/run/run-store.ts';
import { claimRun } from '../../src/imports/run/claim-run.ts';
import type { Run, RunOptions } from '../../src/imports/run/run.ts';
import type { RecordChunk, Source, SourcePart } from '../../src/imports/source.ts';
import { openDirStaging } from '../../src/imports/staging/open-staging.ts';
import type { Staging } from '../../src/imports/staging.ts';
import { newRun, runOptions } from './runs.ts';
import { createExportStage, type ExportDeps } from '../../src/imports/stages/export/export-stage.ts';
import { createDiskQuota } from '../../src/imports/stages/export/disk-quota.ts';

/** A run with a real metadata store and staging in a temp directory; workers take it one after the other. */
export interface ExportTest extends AsyncDisposable {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly dir: string;
  /** Another worker takes the run, as after a crash. */
  hold(signal?: AbortSignal): Promise<RunWriter>;
  run(source: Source, more?: Partial<ExportDeps>): Promise<RunWriter>;
  record(): Promise<Run>;
  /** Every staged line, by part. */
  staged(): Promise<Record<string, string[]>>;
}

export async function exportTest(options: Partial<RunOptions> = {}): Promise<ExportTest> {
  const metadata = await tempMetadata();
  const { db } = metadata;
  const dir = await mkdtemp(join(tmpdir(), 'millrace-export-'));
  const staging = await openDirStaging(dir);
  await createRun(db, newRun({ id: 'r', options: { ...runOptions, ...options } }));
  let now = Date.parse('2026-11-20T10:00:00.000Z');
  const hold = async (signal = new AbortController().signal): Promise<RunWriter> => {
    // The lease of the one before has run out.
    const claim = await claimRun(db, (now += 100_000), 60_000);
    if (claim === undefined) throw new Error('expected the run to be due');
    return createRunWriter({ db, clock: { now: () => now }, signal }, claim);
  };
  return {
    db,
    staging,
    dir,
    hold,
    run: async (source, more = {}) => {
      const leased = await hold();
      await exportStage(staging, source, more)(leased);
      return leased;
    },
    record: async () => {
      const run = await getRun(db, 'r');
      if (run === undefined) throw new Error('expected the run to be there');
      return run;
    },
    staged: async () => {
      const leased = await hold();
      const lines: Record<string, string[]> = {};
      for (const part of await leased.parts()) {
        const texts = await Promise.all(part.segments.map((_, n) => readSegment(staging, 'r', part, n)));
        lines[part.key] = Buffer.concat(texts).toString().split('\n').slice(0, -1);
      }
      return lines;
    },
    async [Symbol.asyncDispose]() {
      await metadata[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export function exportStage(staging: Staging, source: Source, more: Partial<ExportDeps> = {}) {
  const sleep = async (): Promise<void> => undefined;
  const quota = createDiskQuota({ staging, budgetBytes: 0, freeBytes: async () => undefined, sleep });
  return createExportStage({
    source,
    staging,
    quota,
    clock: { now: () => Date.now() },
    sleep,
    failpoint: () => undefined,
    limits: { records: 100, rawBytes: 1_000_000 },
    random: () => 0.5,
    ...more,
  });
}

export interface FakePart {
  readonly key: string;
  readonly identity?: string;
  readonly bytes?: number;
  /** Default true. */
  readonly stable?: boolean;
  readonly lines: readonly string[];
}

export interface FakeSource extends Source {
  /** Keys in the order in which they were opened. */
  readonly opened: string[];
}

/**
 * A source that misbehaves on request.
 * @param chunkLines lines per chunk
 * @param onChunk called before each chunk; may throw
 */
export function fakeSource(
  parts: () => readonly FakePart[],
  { chunkLines = 30, concurrency = 2, onChunk = async () => undefined }: FakeOptions = {},
): FakeSource {
  const opened: string[] = [];
  async function* open({ key }: SourcePart): AsyncGenerator<RecordChunk> {
    opened.push(key);
    const lines = parts().find((part) => part.key === key)?.lines ?? [];
    for (let at = 0; at < lines.length; at += chunkLines) {
      const fault = await onChunk(key, at);
      const cut = lines.slice(at, at + chunkLines);
      const bytes = Buffer.from(cut.map((line) => `${line}\n`).join(''));
      const faults = fault === undefined ? undefined : [{ place: `row ${at}`, reason: fault, original: 'a,"b' }];
      yield { lines: bytes, count: cut.length, bytesRead: at + cut.length, ...(faults && { faults }) };
    }
  }
  return {
    opened,
    concurrency,
    listParts: async () => parts().map(toPart),
    open,
  };
}

export interface FakeOptions {
  readonly chunkLines?: number;
  readonly concurrency?: number;
  /** What it returns is a fault in front of the chunk. */
  readonly onChunk?: (key: string, at: number) => Promise<string | undefined>;
}

function toPart({ key, identity, bytes, stable = true }: FakePart): SourcePart {
  return { key, stable, ...(identity !== undefined && { identity }), ...(bytes !== undefined && { bytes }) };
}

export function numbered(count: number, prefix = 'n'): string[] {
  return Array.from({ length: count }, (_, n) => `{"${prefix}":${n}}`);
}
