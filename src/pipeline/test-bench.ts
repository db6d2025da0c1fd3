/** Real SQLite metadata, the memory log, and an event store that keeps rows in memory and honours tokens and identity. */
import { gzipSync } from 'node:zlib';
import { isoMicros } from '../base/clock.ts';
import { createMemoryLog } from '../eventlog/memory.ts';
import type { Lane, RecordHeader } from '../eventlog/eventlog.ts';
import type { EventStore, RowBatch } from '../eventstore/eventstore.ts';
import { bumpConfigRevision } from '../metadata/config-revision.ts';
import { createProject } from '../metadata/projects.ts';
import { personsByDistinctIds } from '../persons/read.ts';
import type { Plugin } from '../plugins/plugin.ts';
import { syncPlugins } from '../plugins/sync-plugins.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { tempMetadata } from '../../test/support/metadata.ts';
import { startPipeline, type Pipeline } from './consumer.ts';

export interface StoredRow {
  readonly projectId: number;
  readonly day: number;
  readonly uuid: string;
  readonly micros: number;
  readonly receivedAtMicros: number;
  readonly historical: boolean;
  readonly event: string;
  readonly distinctId: string;
  readonly properties: string;
}

/** Reads back what EventRowWriter wrote: RowBinary, columns in the order of eventColumns. */
export function decodeRows({ bytes, rows }: RowBatch): StoredRow[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const text = (): string => {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = buffer[at++] as number;
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    at += length;
    return buffer.toString('utf8', at - length, at);
  };
  const decoded: StoredRow[] = [];
  for (let row = 0; row < rows; row++) {
    const projectId = buffer.readInt32LE(at);
    const day = buffer.readInt32LE(at + 4);
    const high = Buffer.from(buffer.subarray(at + 8, at + 16))
      .reverse()
      .toString('hex');
    const low = Buffer.from(buffer.subarray(at + 16, at + 24))
      .reverse()
      .toString('hex');
    const micros = Number(buffer.readBigInt64LE(at + 24));
    const receivedAtMicros = Number(buffer.readBigInt64LE(at + 32));
    const historical = buffer[at + 40] === 1;
    at += 41;
    const uuid = `${high.slice(0, 8)}-${high.slice(8, 12)}-${high.slice(12)}-${low.slice(0, 4)}-${low.slice(4)}`;
    const [event, distinctId, properties] = [text(), text(), text()];
    decoded.push({ projectId, day, uuid, micros, receivedAtMicros, historical, event, distinctId, properties });
  }
  if (at !== buffer.length) throw new Error(`expected rows to end at ${buffer.length}, got: ${at}`);
  return decoded;
}

/** Every row as inserted, a repeated token dropped. */
export function createRecordingStore() {
  const tokens = new Set<string>();
  const rows: StoredRow[] = [];
  const inserts: { token: string; rows: StoredRow[] }[] = [];
  let refuse: ((rows: readonly StoredRow[]) => Error | undefined) | undefined;
  const store: EventStore = {
    insertBatch: async (batch, token) => {
      const decoded = decodeRows(batch);
      const error = refuse?.(decoded);
      if (error !== undefined) throw error;
      inserts.push({ token, rows: decoded });
      if (tokens.has(token)) return;
      tokens.add(token);
      rows.push(...decoded);
    },
    query: async () => [],
    health: async () => ({ ok: true, detail: '' }),
    close: async () => {},
  };
  return {
    store,
    /** As stored, doubles of the same identity included. */
    rows,
    inserts,
    /** As read: of equal identities the one received first. */
    read(): StoredRow[] {
      const byIdentity = new Map<string, StoredRow>();
      for (const row of rows) {
        const key = JSON.stringify([row.projectId, row.day, row.event, row.distinctId, row.uuid]);
        const known = byIdentity.get(key);
        if (known === undefined || row.receivedAtMicros < known.receivedAtMicros) byIdentity.set(key, row);
      }
      return [...byIdentity.values()];
    },
    refuseWhile(check: ((rows: readonly StoredRow[]) => Error | undefined) | undefined): void {
      refuse = check;
    },
  };
}

export const receivedAt = Date.UTC(2026, 10, 20, 12);

export async function createBench(options: { plugins?: readonly Plugin[]; windowEventsMax?: number } = {}) {
  const metadata = await tempMetadata();
  const { db } = metadata;
  await db.insertInto('organizations').values({ id: 'o', name: 'o', created_at: '2026' }).execute();
  const project = await createProject(db, { organizationId: 'o', name: 'first' }, receivedAt);
  const log = createMemoryLog();
  const recording = createRecordingStore();
  const metrics = createMetrics();
  let now = receivedAt + 1000;
  let failpoint: (name: string) => void = () => {};
  let pipeline: Pipeline | undefined;
  const plugins = new Map((options.plugins ?? []).map((plugin) => [plugin.slug, plugin]));
  const settings = {
    windowEventsMax: options.windowEventsMax ?? 1000,
    captureEventBytesMax: 1_000_000,
    captureInflatedBytesMax: 100_000_000,
  };
  const last: Record<Lane, number> = { live: 0, historical: 0 };

  const bench = {
    db,
    log,
    recording,
    metrics,
    projectId: project.id,
    setFailpoint: (hook: (name: string) => void) => {
      failpoint = hook;
    },
    setNow: (ms: number) => {
      now = ms;
    },
    start(): Pipeline {
      pipeline = startPipeline({
        reader: log.reader,
        store: recording.store,
        db,
        settings,
        metrics,
        log: createLog('silent'),
        clock: { now: () => now },
        plugins: { get: (slug) => plugins.get(slug) },
        failpoint: (name) => failpoint(name),
        gapMs: 0,
      });
      return pipeline;
    },
    async append(lane: Lane, body: unknown, header: Partial<RecordHeader> = {}): Promise<number> {
      const json = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      const bytes = header.encoding === 'gzip' ? gzipSync(json) : json;
      const full: RecordHeader = {
        projectId: project.id,
        receivedAt,
        encoding: 'identity',
        events: 1,
        requestId: 'r',
        ...header,
      };
      last[lane] = await log.writer.append(lane, { header: full, body: bytes });
      return last[lane];
    },
    /** Starts the pipeline if need be and waits until everything appended is stored. */
    async drain(): Promise<void> {
      pipeline ??= bench.start();
      const until = Date.now() + 15_000;
      for (;;) {
        const { stored, running } = pipeline.status();
        if (stored.live >= last.live && stored.historical >= last.historical) return;
        if (!running) throw new Error('expected the pipeline to run');
        if (Date.now() > until) throw new Error(`expected all to be stored, got: ${JSON.stringify(pipeline.status())}`);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    },
    async stop(): Promise<void> {
      await pipeline?.stop();
      pipeline = undefined;
    },
    /** An enabled transformation at the end of the chain; returns its id. */
    async addTransformation(slug: string, given: object = {}): Promise<number> {
      await syncPlugins(db, [...plugins.values()], now);
      const { id } = await db.selectFrom('plugins').select('id').where('slug', '=', slug).executeTakeFirstOrThrow();
      const { position } = await db
        .selectFrom('plugin_configs')
        .select((eb) => eb.fn.countAll<number>().as('position'))
        .executeTakeFirstOrThrow();
      const made = await db
        .insertInto('plugin_configs')
        .values({
          project_id: project.id,
          plugin_id: id,
          family: 'transformation',
          enabled: 1,
          position,
          name: '',
          description: '',
          deleted: 0,
          settings: JSON.stringify(given),
          error: '',
          created_at: isoMicros(now),
          updated_at: isoMicros(now),
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      await bumpConfigRevision(db);
      return made.id;
    },
    async person(distinctId: string) {
      return (await personsByDistinctIds(db, project.id, [distinctId])).get(distinctId);
    },
    deadLetters: () => db.selectFrom('dead_letters').selectAll().orderBy('id').execute(),
    warnings: () =>
      db.selectFrom('ingestion_warnings').select(['project_id', 'type', 'count']).orderBy('type').execute(),
    async [Symbol.asyncDispose]() {
      await bench.stop();
      await metadata[Symbol.asyncDispose]();
    },
  };
  return bench;
}

export type Bench = Awaited<ReturnType<typeof createBench>>;

/** A uuid for test events. */
export function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}
