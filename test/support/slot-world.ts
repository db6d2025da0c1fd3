/** Workers that share slots of one log like separate processes: real leases and consumers, stores in memory next to `db`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../src/base/ids.ts';
import type { EventLogReader, Lane } from '../../src/log/eventlog.ts';
import { partOf, slotOfPart } from '../../src/log/slot-of.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import { spreadProject } from '../../src/stores/metadata/spread-project.ts';
import { createSlots, type SlotHold } from '../../src/stores/metadata/slot-leases.ts';
import type { Plugin } from '../../src/plugins/plugin.ts';
import { createSlotConsumers, type SlotConsumers } from '../../src/pipeline/slots/slot-consumers.ts';
import { startSlotWorker, type SlotWorker } from '../../src/pipeline/slots/slot-worker.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createMetrics } from '../../src/server/telemetry/metrics.ts';
import { createRecordingStore } from './event-store-double.ts';
import { createMemoryLog, type MemoryLog } from './memory-log.ts';
import { addTransformation, receivedAt, stepDeps } from './pipeline.ts';
import { makeStep } from '../../src/pipeline/transform/make-step.ts';

export interface SlotWorldOptions {
  /** Migrated; stays the caller's. */
  readonly db: Metadata;
  readonly slots: number;
  readonly projects?: number;
  readonly plugins?: readonly Plugin[];
}

export interface WorkerOptions {
  readonly leaseMs?: number;
  readonly windowEventsMax?: number;
  /** Of the process, beside the real one, ms. */
  readonly clockMs?: number;
  readonly unfenced?: boolean;
  /** Awaited before each read of the log and each insert: where a process may stand still. */
  readonly pause?: (place: 'read' | 'insert', hold: SlotHold) => Promise<void>;
  /** Awaited before a consumer is stopped: a paused process does not react. */
  readonly hear?: () => Promise<void>;
  /** Handle on the store for consumers. Default: that of the world. */
  readonly db?: Metadata;
  /** For leases. Default: the same. */
  readonly leaseDb?: Metadata;
}

export type SlotWorld = Awaited<ReturnType<typeof createSlotWorld>>;

export async function createSlotWorld({ db, slots, projects = 1, plugins = [] }: SlotWorldOptions) {
  await createSlots(db, slots);
  const organization = await createOrganization(db, { name: 'Own' }, receivedAt);
  const projectIds: number[] = [];
  for (let n = 0; n < projects; n++) {
    projectIds.push((await createProject(db, { organizationId: organization.id, name: `p${n}` }, receivedAt)).id);
  }
  const recording = createRecordingStore();
  const workers = new Set<SlotWorker>();

  const log = createSlotLogs(slots);
  const { logs } = log;
  const spread = async (projectId: number, over: number): Promise<void> => {
    await db.transaction().execute((tx) => spreadProject(tx, projectId, over, receivedAt));
    await sleep(settledMs);
    log.spread(projectId, over);
  };
  const start = (options: WorkerOptions = {}): SlotWorker => {
    const consumers = consumersOf({ db, slots, logs, recording, plugins }, options);
    const worker = startSlotWorker({
      db: options.leaseDb ?? options.db ?? db,
      owner: newId(),
      slots,
      start: async (hold) => {
        const pipeline = await consumers().start(options.unfenced === true ? { ...hold, unfenced: true } : hold);
        return { ...pipeline, stop: () => (options.hear ?? noWait)().then(() => pipeline.stop()) };
      },
      log: createLog('silent'),
      metrics: createMetrics(),
      ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
    });
    workers.add(worker);
    return worker;
  };
  const left = async (): Promise<string[]> => {
    const cursors = await db.selectFrom('log_cursors').select(['slot', 'lane', 'seq']).execute();
    return cursors
      .filter(({ slot, lane, seq }) => seq < log.end(slot, lane))
      .map(({ slot, lane, seq }) => `${slot} ${lane}: ${seq} of ${log.end(slot, lane)}`);
  };
  return {
    projectIds,
    recording,
    logs,
    /** By `<slot> <lane> <seq>`. */
    appended: log.appended,
    append: log.append,
    /** Over so many slots, for what is appended from then on. */
    spread,
    start,
    addTransformation: (projectId: number, slug: string) => addTransformation(db, projectId, plugins, slug, {}),
    /** Until everything appended is stored. */
    async drain(timeoutMs = 30_000): Promise<void> {
      const until = performance.now() + timeoutMs;
      for (;;) {
        const waiting = await left();
        if (waiting.length === 0) return;
        if (performance.now() > until) throw new Error(`expected all to be stored, got left: ${waiting.join(', ')}`);
        await sleep(10);
      }
    },
    async stop(worker: SlotWorker): Promise<void> {
      workers.delete(worker);
      await worker.stop();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...workers].map((worker) => worker.stop()));
    },
  };
}

/** The logs of all slots, and what the door does: a project that is spread goes into several of them. */
function createSlotLogs(slots: number) {
  const logs = Array.from({ length: slots }, (_, slot) => createMemoryLog(`log-${slot}`));
  const last = new Map<string, number>();
  const appended = new Map<string, Appended>();
  const spreads = new Map<number, number>();
  return {
    logs,
    appended,
    end: (slot: number, lane: string): number => last.get(`${slot} ${lane}`) ?? 0,
    spread: (projectId: number, over: number): void => void spreads.set(projectId, over),
    append: async (projectId: number, lane: Lane, batch: readonly object[]): Promise<void> => {
      const spread = spreads.get(projectId) ?? 1;
      const parts = Map.groupBy(batch, (event) => partOf((event as { distinct_id: string }).distinct_id, spread));
      for (const [part, events] of parts) {
        const slot = slotOfPart(projectId, part, slots);
        const body = Buffer.from(JSON.stringify({ batch: events }));
        const about = { projectId, receivedAt, encoding: 'identity', events: events.length, requestId: 'r' } as const;
        const seq = await (logs[slot] as MemoryLog).writer.append(lane, { header: { ...about, part }, body });
        last.set(`${slot} ${lane}`, seq);
        appended.set(`${slot} ${lane} ${seq}`, { projectId, events });
      }
    },
  };
}

interface Appended {
  readonly projectId: number;
  readonly events: readonly object[];
}

/** Consumers have seen by then that a project is spread. */
const settledMs = 500;

const noWait = async (): Promise<void> => undefined;

interface Parts extends Required<Pick<SlotWorldOptions, 'db' | 'slots' | 'plugins'>> {
  readonly logs: readonly MemoryLog[];
  readonly recording: ReturnType<typeof createRecordingStore>;
}

/** Those of one process. */
function consumersOf(parts: Parts, options: WorkerOptions): () => SlotConsumers {
  const { slots, logs, recording, plugins } = parts;
  const db = options.db ?? parts.db;
  const { pause = noWait, clockMs = 0, windowEventsMax = 50 } = options;
  // A pause applies to one consumer: the inserting one is identified by its token.
  const holds = new Map<number, SlotHold>();
  const consumers: SlotConsumers = createSlotConsumers({
    db,
    slots,
    store: {
      ...recording.store,
      insertBatch: async (rows, token) => {
        const hold = holds.get(Number(/^log-(\d+)/.exec(token)?.[1]));
        if (hold !== undefined) await pause('insert', hold);
        await recording.store.insertBatch(rows, token);
      },
    },
    settings: {
      windowEventsMax,
      captureEventBytesMax: 1_000_000,
      captureInflatedBytesMax: 100_000_000,
      personCacheBytes: 1e8,
    },
    metrics: createMetrics(),
    log: createLog('silent'),
    clock: { now: () => receivedAt + 1000 + clockMs },
    makeStep: (config) =>
      makeStep(config, stepDeps(db, plugins, { of: (id, project) => consumers.storageOf(id, project) })),
    failpoint: () => {},
    openReader: async (slot) => {
      const reader = (logs[slot] as MemoryLog).openReader();
      const hold = holds.get(slot);
      return hold === undefined ? reader : pausedReader(reader, () => pause('read', hold));
    },
  });
  const start = (hold: SlotHold) => {
    holds.set(hold.slot, hold);
    return consumers.start(hold);
  };
  return () => ({ ...consumers, start });
}

function pausedReader(reader: EventLogReader, pause: () => Promise<void>): EventLogReader {
  return {
    ...reader,
    read: async (lane, afterSeq, limits) => {
      await pause();
      return await reader.read(lane, afterSeq, limits);
    },
  };
}

/** Ranges of the log that went in with more than one end: `token` is `<log>:<lane>:<from>-<to>`. */
export function rangesWithTwoEnds(inserts: readonly { readonly token: string }[]): string[] {
  const ends = new Map<string, Set<string>>();
  for (const { token } of inserts) {
    const [, start = '', end = ''] = /^(.*:\d+)-(\d+)$/.exec(token) ?? [];
    ends.set(start, (ends.get(start) ?? new Set()).add(end));
  }
  return [...ends].filter(([, each]) => each.size > 1).map(([start, each]) => `${start}-{${[...each].join()}}`);
}

export async function profilesOf(db: Metadata) {
  const persons = await db.selectFrom('persons').selectAll().orderBy('project_id').orderBy('uuid').execute();
  const ids = await db
    .selectFrom('person_distinct_ids')
    .selectAll()
    .orderBy('project_id')
    .orderBy('distinct_id')
    .execute();
  const groups = await db
    .selectFrom('groups')
    .selectAll()
    .orderBy('project_id')
    .orderBy('type_index')
    .orderBy('group_key')
    .execute();
  const storage = await db.selectFrom('plugin_storage').selectAll().orderBy('config_id').orderBy('key').execute();
  // Without the hour, which each process takes from its own clock.
  const usage = await db
    .selectFrom('plugin_metrics')
    .select((eb) => ['config_id', eb.fn.sum('succeeded').as('succeeded'), eb.fn.sum('skipped').as('skipped')])
    .groupBy('config_id')
    .execute();
  return { persons, ids, groups, storage, usage };
}

/** A store that refuses everything while the network to it is down. */
export function whileThere(db: Metadata, isThere: () => boolean): Metadata {
  return new Proxy(db, {
    get: (target, name) => {
      if (!isThere()) throw new Error('the database is away');
      const value: unknown = Reflect.get(target, name, target);
      // Bound: the store's own fields are out of a proxy's reach.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
