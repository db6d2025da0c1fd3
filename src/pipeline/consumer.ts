import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../base/retry.ts';
import type { Clock } from '../base/clock.ts';
import { scanLimits } from '../wire/batch/limits.ts';
import type { ScanReceiver } from '../wire/batch/scan-relay.ts';
import type { Failpoint } from '../base/failpoint.ts';
import type { Settings } from '../server/config/settings.ts';
import { lanes, type EventLogReader, type Lane } from '../log/eventlog.ts';
import type { SpreadProject } from '../log/slot-of.ts';
import { StoreUnavailableError, type EventStore } from '../stores/events/eventstore.ts';
import type { RowMemory } from '../stores/events/rows.ts';
import { Tap } from './live/tap.ts';
import type { Sightings } from './live/watch.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import type { dueRebuilds } from '../stores/metadata/profile-rebuilds.ts';
import { holdSlot, SlotLostError, type SlotHold } from '../stores/metadata/slot-leases.ts';
import type { WindowStorage } from '../plugins/services/window-storage.ts';
import type { Log } from '../server/telemetry/log.ts';
import type { Metrics } from '../server/telemetry/metrics.ts';
import type { Tracing } from '../server/telemetry/tracing.ts';
import type { ConfigReads } from './transform/config-reads.ts';
import { TransformChains } from './transform/transform-chains.ts';
import type { TransformConfig } from './transform/transform-configs.ts';
import type { MakeStep } from './transform/instance.ts';
import { readCursor } from './cursors.ts';
import { knownRecords } from './known-records.ts';
import { createPoisonSearch, type PoisonSearch } from './poison-search.ts';
import { createLaneLimits, type LaneLimits } from './lane-limits.ts';
import { storeWindow, type StoreDeps } from './store-window.ts';
import { createFailureLogs, type FailureLog, type FailureLogs } from './failure-log.ts';
import { ProfileRebuilder } from './rebuild/profile-rebuilder.ts';
import { WindowBuilder } from './window-builder.ts';
import { countError, countWindow } from './window-metrics.ts';
import type { Window } from './window.ts';

export interface PipelineDeps {
  /** Reads one slot. */
  readonly reader: EventLogReader;
  /** Holds the same slot. */
  readonly hold: SlotHold;
  readonly store: EventStore;
  readonly db: Metadata;
  readonly settings: Pick<
    Settings,
    'windowEventsMax' | 'captureEventBytesMax' | 'captureInflatedBytesMax' | 'personCacheBytes'
  >;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  /** Creates the runnable step of an enabled config. */
  readonly makeStep: MakeStep;
  /** Writes a transformation's failure into its log. */
  readonly logFailure?: (config: TransformConfig, message: string) => void;
  /** Storage of the plugins. */
  readonly pluginStorage: WindowStorage;
  readonly failpoint: Failpoint;
  /** Readers of the live stream. Default: none. */
  readonly live?: LiveReaders;
  /** Stops the pipeline when aborted, as stop() does. */
  readonly signal?: AbortSignal;
  /** Minimum time between two small inserts of a lane, ms. Default 100. */
  readonly gapMs?: number;
  /** How long events wait for a plugin's setup, ms. Default 5,000. */
  readonly readyMs?: number;
  /** Poll interval for persons to rebuild, ms. Default 1,000. */
  readonly rebuildPollMs?: number;
  /** State shared with the consumers of other slots in this process. Default: there are no others. */
  readonly siblings?: Siblings;
  /** Default: nothing is traced. */
  readonly tracing?: Pick<Tracing, 'stored'> | undefined;
  /** Scans that capture forwards for records of this slot. Default: none. */
  readonly scans?: Pick<ScanReceiver, 'take'> | undefined;
}

export interface Siblings {
  /** Number of consumers, including this one. */
  readonly count: () => number;
  readonly rowMemory: RowMemory;
  /** Whether the project belongs to the slot, which then rebuilds its persons. Of a spread project the slot has the first part. */
  readonly owns: (projectId: number) => boolean;
  /** Whether the slot has events of the project. */
  readonly serves: (project: SpreadProject) => boolean;
  readonly configs: ConfigReads;
  readonly dueRebuilds: () => ReturnType<typeof dueRebuilds>;
  readonly failures: FailureLogs;
  /** Releases what other consumers wait for, after a window failed to be stored. */
  readonly release: () => void;
  /** Reports the lag of a lane in seconds; the process publishes the maximum over its slots. */
  readonly reportLag: (lane: Lane, seconds: number) => void;
}

export interface LiveReaders {
  readonly tap: Tap;
  /** Sends what readers may see of a stored window. */
  readonly publish: (sightings: Sightings) => void;
}

export interface PipelineStatus {
  readonly running: boolean;
  /** Why the pipeline is stalled, as one sentence; empty: it is not. */
  readonly failure: string;
  /** Last stored seq by lane. */
  readonly stored: Readonly<Record<Lane, number>>;
}

export interface Pipeline {
  /** Resolves once it has stopped. */
  readonly done: Promise<void>;
  /** Finishes the window being stored, if the stores are available, and stops. */
  stop(): Promise<void>;
  status(): PipelineStatus;
}

const smallWindowEvents = 1000;
export const gapMsDefault = 100;
const idleMsMax = 1000;
const slowInsertMs = 60_000;
const retryFirstMs = 50;
const retryMaxMs = 5000;

/**
 * Moves events from the log into the stores until stopped, each exactly once: live events first, then historical ones. While
 * one window is being stored the next one is computed. After any failure the work restarts from the committed cursors.
 */
export function startPipeline(deps: PipelineDeps): Pipeline {
  const consumer = new Consumer(deps);
  const done = consumer.run();
  const stop = (): Promise<void> => {
    consumer.stop();
    return done;
  };
  deps.signal?.addEventListener('abort', () => consumer.stop(), { once: true });
  if (deps.signal?.aborted === true) consumer.stop();
  return { done, stop, status: () => consumer.status() };
}

interface LanePosition {
  /** Last seq that is part of a computed window. */
  seq: number;
  /** Ends of ranges that must be read again exactly. */
  pending: number[];
}

class Consumer {
  readonly #deps: PipelineDeps;
  readonly #builder: WindowBuilder;
  readonly #chains: TransformChains;
  readonly #limits: LaneLimits;
  readonly #failureLog: FailureLog;
  readonly #poison: PoisonSearch;
  readonly #rebuilder: ProfileRebuilder;
  readonly #storeDeps: StoreDeps;
  readonly #inserts: Pick<EventStore, 'insertBatch'>;
  readonly #stopping = new AbortController();
  readonly #stored: Record<Lane, number> = { live: 0, historical: 0 };
  #positions: Record<Lane, LanePosition> = { live: { seq: 0, pending: [] }, historical: { seq: 0, pending: [] } };
  #windows = 0;
  #failures = 0;
  #running = true;
  #liveHasCaughtUp = false;
  #smallInsertAt: Record<Lane, number> = { live: -Infinity, historical: -Infinity };

  constructor(deps: PipelineDeps) {
    const { db, hold, reader, clock, settings, failpoint, siblings } = deps;
    this.#deps = deps;
    this.#chains = new TransformChains({
      db,
      makeStep: deps.makeStep,
      clock,
      log: deps.log,
      hold: (tx) => holdSlot(tx, hold),
      signal: this.#stopping.signal,
      ...(deps.readyMs && { readyMs: deps.readyMs }),
      ...(deps.logFailure && { logFailure: deps.logFailure }),
      ...(siblings && { reads: siblings.configs, serves: siblings.serves }),
    });
    const limits = {
      scan: scanLimits(settings.captureEventBytesMax),
      inflatedBytesMax: settings.captureInflatedBytesMax,
    };
    const tap = deps.live?.tap ?? new Tap();
    const { pluginStorage: storage } = deps;
    this.#builder = new WindowBuilder({
      logId: reader.id,
      db,
      chains: this.#chains,
      storage,
      clock,
      limits,
      personCacheBytes: settings.personCacheBytes,
      tap,
      scans: deps.scans,
      ...(siblings && { builders: siblings.count, rowMemory: siblings.rowMemory }),
    });
    this.#limits = createLaneLimits(settings.windowEventsMax, () => performance.now());
    this.#failureLog = (siblings?.failures ?? createFailureLogs(deps.log, clock)).of(hold.slot);
    this.#inserts = insertsOf(reader, deps.store);
    this.#poison = createPoisonSearch({ db, hold, reader, store: this.#inserts, builder: this.#builder, clock });
    this.#rebuilder = new ProfileRebuilder({
      ...deps,
      ...(deps.rebuildPollMs && { pollMs: deps.rebuildPollMs }),
      ...(siblings && { dueRebuilds: siblings.dueRebuilds, owns: siblings.owns }),
    });
    const onConflict = (): void => deps.metrics.count('millrace_profile_conflicts_total', {});
    this.#storeDeps = { db, hold, reader, clock, failpoint, onConflict, insert: (...of) => this.#insert(...of) };
  }

  stop(): void {
    this.#stopping.abort();
  }

  status(): PipelineStatus {
    return { running: this.#running, failure: this.#failureLog.current, stored: { ...this.#stored } };
  }

  async run(): Promise<void> {
    while (!this.#isStopping) {
      try {
        await this.#work();
      } catch (error) {
        if (!this.#isStopping) await this.#recover(error);
      }
    }
    await this.#chains.close();
    this.#running = false;
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Works from the committed cursors until stopped. Throws at the first failure. */
  async #work(): Promise<void> {
    this.#builder.reset();
    for (const lane of lanes) {
      const { seq, pending } = await readCursor(this.#deps.db, { slot: this.#deps.hold.slot, lane });
      this.#positions[lane] = { seq, pending: [...pending] };
      this.#stored[lane] = seq;
      // Repeated in case the previous process ended between the transaction and this call.
      this.#deps.reader.commit(lane, seq);
    }
    let storing: Promise<void> = Promise.resolve();
    try {
      while (!this.#isStopping) {
        const window = await this.#nextWindow();
        await storing;
        if (this.#isStopping) break;
        if (window !== undefined) storing = this.#startStoring(window);
        const isRebuilding = await this.#rebuild(storing);
        if (window === undefined && !isRebuilding) await this.#idle();
      }
      await storing;
    } finally {
      // After a failed computation the window being stored must complete or fail before anything is computed again.
      await storing.catch(() => {});
    }
  }

  /** Does one piece of a rebuild between two windows, so that events are not blocked. Returns whether there was one. */
  async #rebuild(storing: Promise<void>): Promise<boolean> {
    // A range in progress is stored first, so that the rebuild sees all of its events.
    if (lanes.some((lane) => this.#positions[lane].pending.length > 0)) return false;
    const rebuild = await this.#rebuilder.next();
    if (rebuild === undefined) return false;
    await storing;
    await this.#rebuilder.step(rebuild);
    this.#builder.forgetProfiles();
    return true;
  }

  /** Its promise is awaited after the next window is computed; until then a rejection must not count as unhandled. */
  #startStoring(window: Window): Promise<void> {
    const storing = this.#store(window);
    storing.catch(() => this.#deps.siblings?.release());
    return storing;
  }

  async #idle(): Promise<void> {
    const restMs = lanes.map((lane) => this.#restMs(lane)).filter((ms) => ms > 0);
    if (restMs.length > 0) {
      await this.#sleep(Math.min(...restMs));
      return;
    }
    // Without waiting events there is no lag.
    for (const lane of lanes) this.#reportLag(lane, 0);
    await this.#builder.refresh();
    await this.#waitUnlessStopped(this.#deps.reader.waitForAppend(idleMsMax));
  }

  /**
   * Computes a range in progress first, because it was computed from what is stored now. Then live events; but once the live lane
   * has caught up, history gets its turn, so that a steady trickle of live events cannot block it permanently.
   */
  async #nextWindow(): Promise<Window | undefined> {
    const isHistoryInProgress =
      this.#positions.live.pending.length === 0 && this.#positions.historical.pending.length > 0;
    const order: readonly Lane[] = isHistoryInProgress || this.#liveHasCaughtUp ? ['historical', 'live'] : lanes;
    this.#liveHasCaughtUp = false;
    for (const lane of order) {
      if (this.#restMs(lane) > 0) continue;
      const limit = this.#limits.of(lane).events;
      const window = await this.#computeWindow(lane);
      if (window === undefined) continue;
      this.#liveHasCaughtUp = lane === 'live' && window.counts.events < limit;
      return window;
    }
    return undefined;
  }

  async #computeWindow(lane: Lane): Promise<Window | undefined> {
    const position = this.#positions[lane];
    const eventsMax = this.#poison.eventsMax(lane, position.seq);
    const exactEnd = eventsMax === undefined ? position.pending[0] : undefined;
    const limits = exactEnd === undefined ? this.#limits.of(lane) : exactLimits(exactEnd);
    const found = await this.#deps.reader.read(lane, position.seq, { ...limits, events: eventsMax ?? limits.events });
    const records = knownRecords(found, exactEnd !== undefined);
    // The read may have waited for its turn.
    if (this.#isStopping) return undefined;
    if (records.length === 0) {
      // The range is no longer in the log: there is nothing to repeat.
      if (exactEnd !== undefined) position.pending.shift();
      return undefined;
    }
    const startedAt = performance.now();
    const known = this.#poison.selection(lane);
    const number = ++this.#windows;
    const from = position.seq;
    const window = await this.#poison.watch(lane, from, records, () =>
      this.#builder.build({
        number,
        lane,
        from,
        records,
        waitedMsMax: this.#limits.waitedMsMax(lane),
        ...(exactEnd === undefined ? {} : { exactEnd }),
        ...(known === undefined ? {} : { selection: known.selection }),
        ...(eventsMax === undefined ? {} : { rowsMax: eventsMax }),
      }),
    );
    position.seq = window.to;
    position.pending = position.pending.filter((end) => end > window.to);
    this.#limits.record(lane, window.counts.events, performance.now() - startedAt);
    return known === undefined ? window : { ...window, token: `${window.token}:${known.name}` };
  }

  async #store(window: Window): Promise<void> {
    const startedAt = performance.now();
    await this.#poison.watchWindow(window, () => storeWindow(this.#storeDeps, window));
    const { metrics, clock } = this.#deps;
    this.#builder.committed(window);
    this.#poison.stored(window);
    this.#stored[window.lane] = window.to;
    this.#failures = 0;
    this.#failureLog.recovered();
    this.#limits.record(window.lane, window.counts.events, performance.now() - startedAt);
    countWindow(metrics, window);
    this.#trace(window);
    const { oldestReceivedAt } = window;
    if (oldestReceivedAt !== undefined)
      this.#reportLag(window.lane, Math.max(0, clock.now() - oldestReceivedAt) / 1000);
    if (window.live.seen.length + window.live.skipped.length > 0) this.#deps.live?.publish(window.live);
    if (window.rows.rows < smallWindowEvents) this.#smallInsertAt[window.lane] = startedAt;
  }

  #trace({ lane, traceparents, counts, rows, startedAt, computedAt }: Window): void {
    const { tracing, clock } = this.#deps;
    if (traceparents.length === 0) return;
    const { events } = counts;
    tracing?.stored({ lane, traceparents, events, rows: rows.rows, startedAt, computedAt, storedAt: clock.now() });
  }

  /** Inserts the window, retrying while the store is unavailable; other failures propagate. */
  async #insert(window: Window, isRepeated: boolean): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const startedAt = performance.now();
      try {
        await this.#warnWhileSlow(window.lane, this.#inserts.insertBatch(window.rows, window.token, isRepeated));
        const seconds = (performance.now() - startedAt) / 1000;
        this.#deps.metrics.observe('millrace_store_insert_seconds', {}, seconds);
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || this.#isStopping) throw error;
        countError(this.#deps.metrics, error);
        this.#failureLog.failed(error);
        await this.#sleep(backoffMs(attempt, retryFirstMs, retryMaxMs));
        if (this.#isStopping) throw error;
      }
    }
  }

  /** Logs a slow insert: one that never ends would otherwise stall a lane silently. */
  async #warnWhileSlow(lane: Lane, insert: Promise<void>): Promise<void> {
    const startedAt = performance.now();
    const { log, hold } = this.#deps;
    const timer = setInterval(() => {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      log.warn({ slot: hold.slot, lane, seconds }, 'store insert still running');
    }, slowInsertMs);
    try {
      await insert;
    } finally {
      clearInterval(timer);
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (error instanceof SlotLostError) return this.#stopAfterLoss(error);
    countError(this.#deps.metrics, error);
    this.#failureLog.failed(error);
    await this.#sleep(backoffMs(this.#failures, retryFirstMs, retryMaxMs));
    this.#failures += 1;
    if (this.#isStopping) return;
    try {
      await this.#poison.search(this.#deps.log);
    } catch (searchError) {
      if (searchError instanceof SlotLostError) return this.#stopAfterLoss(searchError);
      this.#failureLog.failed(searchError);
    }
  }

  /** Stops this consumer: its state in memory is no longer valid. */
  #stopAfterLoss(error: SlotLostError): void {
    this.#deps.log.warn({ slot: this.#deps.hold.slot, err: error }, 'slot lost to another worker');
    this.stop();
  }

  /** Returns how long the lane pauses after a small insert so that events accumulate: every insert costs the store a part. */
  #restMs(lane: Lane): number {
    const { gapMs = gapMsDefault } = this.#deps;
    return this.#smallInsertAt[lane] + gapMs - performance.now();
  }

  #reportLag(lane: Lane, seconds: number): void {
    const { siblings, metrics } = this.#deps;
    if (siblings === undefined) metrics.set('millrace_source_lag_seconds', { lane }, seconds);
    else siblings.reportLag(lane, seconds);
  }

  /** Ends early when stopped. */
  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch((error: unknown) => {
      if (!this.#isStopping) throw error;
    });
  }

  /** Awaits a promise that cannot be cancelled, but not beyond stop(). */
  async #waitUnlessStopped(wait: Promise<unknown>): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    const stopped = Promise.withResolvers<void>();
    const release = (): void => stopped.resolve();
    signal.addEventListener('abort', release, { once: true });
    try {
      await Promise.race([wait, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', release);
    }
  }
}

/**
 * Adds the log's identity to tokens, which name a range of a log: the store may have outlived another log whose ranges had the
 * same numbers, and would treat new events as a repetition.
 */
function insertsOf(reader: EventLogReader, store: EventStore): Pick<EventStore, 'insertBatch'> {
  return { insertBatch: (rows, token, isRepeated) => store.insertBatch(rows, `${reader.id}:${token}`, isRepeated) };
}

function exactLimits(lastSeq: number) {
  return { events: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, lastSeq };
}
