/**
 * The live stream between processes: readers are in one, events are seen in others. Readers are in a small table, under a lease by
 * the database's clock, which every process polls once a second. What it sees for readers elsewhere goes through another table, in
 * messages of bounded size; the rest is counted. Messages are not polled while there are no readers.
 */
import { repeat } from '../../base/repeat.ts';
import type { LiveStage } from '../../wire/contract/live-events.ts';
import type { LiveHub, LiveSink } from '../../pipeline/live/hub.ts';
import type { Sighting, Sightings, Watch } from '../../pipeline/live/watch.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  keepWatches,
  listWatchesElsewhere,
  postSightings,
  pruneLive,
  takeSightings,
  type WatchRow,
} from '../../stores/metadata/live-watches.ts';
import type { WarnLog } from '../telemetry/log.ts';

export interface LiveRelayDeps {
  readonly db: Metadata;
  readonly live: LiveHub;
  readonly log: WarnLog;
  /** Id of this process. */
  readonly processId: string;
}

const pollMs = 1000;
const leaseMs = 10_000;
const passMs = 200;
/** Maximum of one message to the readers of a process, once per `passMs`. */
const messageCharsMax = 256 * 1024;
const pruneMs = 60_000;

/** `parts` receives what must be stopped. */
export function startLiveRelay({ db, live, log, processId }: LiveRelayDeps, parts: AsyncDisposableStack): void {
  const others = new ReadersElsewhere(live);
  const own = new OwnReaders(db, processId);
  const stop = new AbortController();
  const deps = {
    signal: stop.signal,
    onTrouble: (err: unknown) => log.warn({ err }, 'failed to relay live stream between processes; retrying'),
  };
  const forget = live.addSource(async (watches) => {
    await own.change(watches).catch(deps.onTrouble);
  });
  const loops = [
    repeat(
      pollMs,
      async () => {
        await own.renew();
        others.change(await listWatchesElsewhere(db, processId));
      },
      deps,
    ),
    repeat(
      passMs,
      async () => {
        await others.pass((owner, sightings) => postSightings(db, owner, sightings));
        for (const text of await own.take()) live.deliver(JSON.parse(text) as Sightings);
      },
      deps,
    ),
    repeat(pruneMs, () => pruneLive(db, pruneMs), deps),
  ];
  parts.defer(async () => {
    forget();
    stop.abort();
    await Promise.all(loops);
    await keepWatches(db, processId, [], 0).catch(deps.onTrouble);
  });
}

/** Readers in this process, published to the others. */
class OwnReaders {
  readonly #db: Metadata;
  readonly #processId: string;
  #rows: readonly Omit<WatchRow, 'processId'>[] = [];
  #writing: Promise<void> = Promise.resolve();
  #renewedAt = -Infinity;

  constructor(db: Metadata, processId: string) {
    this.#db = db;
    this.#processId = processId;
  }

  /** Resolves when other processes can find them. */
  async change(watches: readonly Watch[]): Promise<void> {
    const own = watches.filter(({ elsewhere }) => elsewhere !== true);
    if (own.length === this.#rows.length && own.every(({ id }, at) => this.#rows[at]?.watchId === id)) return;
    this.#rows = own.map((watch) => ({ watchId: watch.id, watch: JSON.stringify(watch) }));
    await this.#write();
  }

  async renew(): Promise<void> {
    if (this.#rows.length > 0 && performance.now() - this.#renewedAt > leaseMs / 3) await this.#write();
  }

  async take(): Promise<readonly string[]> {
    return this.#rows.length === 0 ? [] : takeSightings(this.#db, this.#processId);
  }

  /** Writes one after another, each with the current readers. */
  async #write(): Promise<void> {
    const before = this.#writing;
    const write = async (): Promise<void> => {
      await before.catch(() => undefined);
      await keepWatches(this.#db, this.#processId, this.#rows, leaseMs);
      this.#renewedAt = performance.now();
    };
    this.#writing = write();
    await this.#writing;
  }
}

/** Readers in other processes. */
class ReadersElsewhere {
  readonly #live: LiveHub;
  readonly #open = new Map<string, { readonly close: () => void }>();
  readonly #outboxes = new Map<string, Outbox>();

  constructor(live: LiveHub) {
    this.#live = live;
  }

  change(rows: readonly WatchRow[]): void {
    const wanted = new Map(rows.map((row) => [`${row.processId} ${row.watchId}`, row]));
    for (const [key, { close }] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      close();
    }
    for (const [key, row] of wanted) if (!this.#open.has(key)) this.#add(key, row);
    const owners = new Set(rows.map(({ processId }) => processId));
    for (const owner of this.#outboxes.keys()) if (!owners.has(owner)) this.#outboxes.delete(owner);
  }

  #add(key: string, { processId, watchId, watch }: WatchRow): void {
    const outbox = this.#outboxes.get(processId) ?? new Outbox();
    this.#outboxes.set(processId, outbox);
    const wanted = { ...(JSON.parse(watch) as Watch), elsewhere: true } as const;
    this.#open.set(key, this.#live.add(outbox.sinkOf(watchId), wanted));
  }

  /** Passes on what was seen since the last time. */
  async pass(post: (owner: string, sightings: string) => Promise<void>): Promise<void> {
    for (const [owner, outbox] of this.#outboxes) await outbox.pass((text) => post(owner, text));
  }
}

/** Content of the next message to a process. */
class Outbox {
  #seen: Sighting[] = [];
  #chars = 0;
  readonly #skipped = new Map<string, { watch: number; stage: LiveStage; count: number }>();

  sinkOf(watch: number): LiveSink {
    return {
      see: ({ stage, json }) => {
        if (this.#chars + json.length > messageCharsMax) return this.#skip(watch, stage, 1);
        this.#chars += json.length;
        this.#seen.push({ stage, watches: [watch], json });
      },
      skipped: (stage, count) => this.#skip(watch, stage, count),
    };
  }

  async pass(post: (text: string) => Promise<void>): Promise<void> {
    if (this.#seen.length === 0 && this.#skipped.size === 0) return;
    const sightings: Sightings = { seen: this.#seen, skipped: [...this.#skipped.values()] };
    this.#seen = [];
    this.#chars = 0;
    this.#skipped.clear();
    try {
      await post(JSON.stringify(sightings));
    } catch (error) {
      // They are counted with the next message that arrives.
      for (const { stage, watches } of sightings.seen) for (const watch of watches) this.#skip(watch, stage, 1);
      for (const { watch, stage, count } of sightings.skipped) this.#skip(watch, stage, count);
      throw error;
    }
  }

  #skip(watch: number, stage: LiveStage, count: number): void {
    const key = `${watch} ${stage}`;
    const before = this.#skipped.get(key)?.count ?? 0;
    this.#skipped.set(key, { watch, stage, count: before + count });
  }
}
