/** Real SQLite metadata unless another store is given, the memory log, and an event store in memory. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { isoMicros } from '../../src/base/clock.ts';
import { createMemoryLog, type MemoryLog } from './memory-log.ts';
import type { BodyEncoding, Lane, RecordHeader } from '../../src/log/eventlog.ts';
import { bumpConfigRevision } from '../../src/stores/metadata/config-revision.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import { bytesMaxDefault } from '../../src/pipeline/persons/person-store.ts';
import { personsByDistinctIds } from '../../src/pipeline/persons/read-persons.ts';
import { WindowStorage } from '../../src/plugins/services/window-storage.ts';
import type { Plugin } from '../../src/plugins/plugin.ts';
import { syncPlugins } from '../../src/plugins/built-in/sync-plugins.ts';
import { testHost } from './transformation-host.ts';
import { loadFiles } from '../../src/plugins/configs/load-files.ts';
import { makeStep, type StepDeps } from '../../src/pipeline/transform/make-step.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createMetrics } from '../../src/server/telemetry/metrics.ts';
import { tempMetadata } from './metadata.ts';
import { startPipeline, type LiveReaders, type Pipeline, type PipelineDeps } from '../../src/pipeline/consumer.ts';
import { createRecordingStore } from './event-store-double.ts';

const pack: Readonly<Record<BodyEncoding, (body: Buffer) => Uint8Array>> = {
  identity: (body) => body,
  gzip: (body) => gzipSync(body),
  'zstd-ndjson': (body) => zstdCompressSync(body),
};

export const receivedAt = Date.UTC(2026, 10, 20, 12);
const startedAt = receivedAt + 1000;

interface BenchOptions {
  readonly plugins?: readonly Plugin[];
  /** E.g. a sandbox; without one, installed plugins cannot run. */
  readonly steps?: Partial<StepDeps>;
  readonly windowEventsMax?: number;
  readonly personCacheBytes?: number;
  readonly readyMs?: number;
  /** Empty and migrated; stays the caller's. */
  readonly db?: Metadata;
  readonly live?: LiveReaders;
  /** What capture hands on. Default: nothing. */
  readonly scans?: PipelineDeps['scans'];
  /** Where plugins read what they keep. Default: the store of everything else. */
  readonly storageDb?: (db: Metadata) => Metadata;
  /** Of the event log. Default: like no other. */
  readonly logId?: string;
  /** Default: a new, empty one. */
  readonly recording?: ReturnType<typeof createRecordingStore>;
}

export async function createBench(options: BenchOptions = {}) {
  const own = options.db === undefined ? await tempMetadata() : undefined;
  const db = options.db ?? own?.db;
  if (db === undefined) throw new Error('expected a metadata store');
  const organization = await createOrganization(db, { name: 'Own' }, startedAt);
  const { id: projectId } = await createProject(db, { organizationId: organization.id, name: 'first' }, startedAt);
  const log = createMemoryLog(options.logId);
  const recording = options.recording ?? createRecordingStore();
  const metrics = createMetrics();
  const plugins = options.plugins ?? [];
  const storage = new WindowStorage(options.storageDb?.(db) ?? db);
  const runner = createRunner(log, {
    hold: { slot: 0, epoch: 0 },
    reader: log.reader,
    store: recording.store,
    db,
    settings: {
      windowEventsMax: options.windowEventsMax ?? 1000,
      captureEventBytesMax: 1_000_000,
      captureInflatedBytesMax: 100_000_000,
      personCacheBytes: options.personCacheBytes ?? bytesMaxDefault,
    },
    metrics,
    log: createLog('silent'),
    clock: { now: () => startedAt },
    makeStep: (config, onSetup) => makeStep(config, { ...stepDeps(db, plugins, storage), ...options.steps }, onSetup),
    pluginStorage: storage,
    ...(options.live && { live: options.live }),
    scans: options.scans,
    gapMs: 0,
    ...(options.readyMs && { readyMs: options.readyMs }),
  });
  return {
    ...runner,
    db,
    log,
    recording,
    metrics,
    projectId,
    append: (lane: Lane, body: unknown, header: Partial<RecordHeader> = {}): Promise<number> =>
      runner.append(lane, body, { projectId, ...header }),
    /** An enabled transformation at the end of the chain; returns its id. */
    addTransformation: (slug: string, settings: object = {}): Promise<number> =>
      addTransformation(db, projectId, plugins, slug, settings),
    person: async (distinctId: string) => (await personsByDistinctIds(db, projectId, [distinctId])).get(distinctId),
    deadLetters: () => db.selectFrom('dead_letters').selectAll().orderBy('id').execute(),
    warnings: () =>
      db.selectFrom('ingestion_warnings').select(['project_id', 'type', 'count']).orderBy('type').execute(),
    async [Symbol.asyncDispose]() {
      await runner.stop();
      await own?.[Symbol.asyncDispose]();
    },
  };
}

export function stepDeps(db: Metadata, plugins: readonly Plugin[], storage: Pick<WindowStorage, 'of'>): StepDeps {
  const refuse = async (): Promise<never> => {
    throw new Error('this bench runs built-in transformations only');
  };
  return {
    findPlugin: (slug) => plugins.find((plugin) => plugin.slug === slug),
    sandbox: { describe: refuse, open: refuse, close: async () => {} },
    loadProgram: refuse,
    loadFiles: (configId) => loadFiles(db, configId),
    hostOf: ({ id: configId, projectId }, attachments) =>
      testHost({ configId, projectId, attachments, storage: storage.of(configId, projectId) }),
    servicesOf: () => {
      throw new Error('this bench runs built-in transformations only');
    },
  };
}

/** Appends to the log, and runs pipelines until all of it is stored. */
function createRunner(log: MemoryLog, parts: Omit<PipelineDeps, 'failpoint'>) {
  const last: Record<Lane, number> = { live: 0, historical: 0 };
  let failpoint: (name: string) => void = () => {};
  let pipeline: Pipeline | undefined;
  const start = (): Pipeline => {
    pipeline = startPipeline({ ...parts, failpoint: (name) => failpoint(name) });
    return pipeline;
  };
  return {
    start,
    setFailpoint: (hook: (name: string) => void): void => {
      failpoint = hook;
    },
    async append(lane: Lane, body: unknown, header: Partial<RecordHeader> & { projectId: number }): Promise<number> {
      const json = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      const full: RecordHeader = { receivedAt, encoding: 'identity', events: 1, requestId: 'r', ...header };
      last[lane] = await log.writer.append(lane, {
        header: full,
        body: pack[full.encoding](json),
      });
      return last[lane];
    },
    /** Starts a pipeline if need be and waits until everything appended is stored. */
    async drain(): Promise<void> {
      const running = pipeline ?? start();
      const until = Date.now() + 15_000;
      for (;;) {
        const status = running.status();
        if (status.stored.live >= last.live && status.stored.historical >= last.historical) return;
        if (!status.running) throw new Error('expected the pipeline to run');
        if (Date.now() > until) throw new Error(`expected all to be stored, got: ${JSON.stringify(status)}`);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    },
    async stop(): Promise<void> {
      await pipeline?.stop();
      pipeline = undefined;
    },
  };
}

export async function addTransformation(
  db: Metadata,
  projectId: number,
  plugins: readonly Plugin[],
  slug: string,
  settings: object,
): Promise<number> {
  await syncPlugins(db, plugins, startedAt);
  const plugin = await db.selectFrom('plugins').select('id').where('slug', '=', slug).executeTakeFirstOrThrow();
  const { position } = await db
    .selectFrom('plugin_configs')
    .select((eb) => eb.fn.countAll<number>().as('position'))
    .executeTakeFirstOrThrow();
  const made = await db
    .insertInto('plugin_configs')
    .values({
      project_id: projectId,
      plugin_id: plugin.id,
      family: 'transformation',
      enabled: 1,
      position: Number(position),
      name: '',
      description: '',
      deleted: 0,
      settings: JSON.stringify(settings),
      error: '',
      created_at: isoMicros(startedAt),
      updated_at: isoMicros(startedAt),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await bumpConfigRevision(db);
  return made.id;
}

export type Bench = Awaited<ReturnType<typeof createBench>>;

/** A uuid for test events. */
export function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}
