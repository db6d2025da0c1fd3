import type { Lane } from './eventlog.ts';

export interface StoredPlace {
  readonly lane: Lane;
  readonly slot: number;
  /** Everything up to and including this seq is stored. */
  readonly seq: number;
}

export interface PendingPlace extends StoredPlace {
  /** The seq that was handled before; -1 if none was. */
  readonly handled: number;
}

interface HandlerDeps {
  readonly everyMs: number;
  /** Returns how far it got; the rest is pending again. May be repeated. */
  readonly handle: (places: readonly PendingPlace[]) => Promise<readonly StoredPlace[]>;
  /** Called for a failed attempt, which is repeated. */
  readonly failed: (error: unknown) => Promise<void>;
  /** Interval of handling everything again, ms. Default: never. */
  readonly repeatMs?: number;
}

/** Periodically handles what the slots of this process have stored. */
export interface StoredPlaces {
  add(place: StoredPlace): void;
  /** Drops a slot, which another process may hold now. */
  drop(slot: number): void;
  /** Stops without handling the rest, which the next holders of the slots do. */
  stop(): Promise<void>;
}

export function handleStored({ everyMs, handle, failed, repeatMs = Infinity }: HandlerDeps): StoredPlaces {
  const stored = new Map<string, StoredPlace>();
  const handled = new Map<string, number>();
  let working: Promise<void> = Promise.resolve();
  let repeatedAt = performance.now();

  const pending = (): PendingPlace[] =>
    [...stored].flatMap(([name, place]) => {
      const before = handled.get(name) ?? -1;
      return place.seq > before ? [{ ...place, handled: before }] : [];
    });

  const work = async (places: readonly PendingPlace[]): Promise<void> => {
    try {
      for (const place of await handle(places)) {
        const name = nameOf(place);
        if (stored.has(name)) handled.set(name, place.seq);
      }
    } catch (error) {
      await failed(error);
    }
  };

  let isWorking = false;
  const timer = setInterval(() => {
    if (performance.now() - repeatedAt >= repeatMs) {
      repeatedAt = performance.now();
      handled.clear();
    }
    const places = isWorking ? [] : pending();
    if (places.length === 0) return;
    isWorking = true;
    working = work(places).finally(() => (isWorking = false));
  }, everyMs).unref();

  return {
    add: (place) => {
      const name = nameOf(place);
      if (place.seq > (stored.get(name)?.seq ?? -1)) stored.set(name, place);
    },
    drop: (slot) => {
      for (const [name, place] of stored) {
        if (place.slot !== slot) continue;
        stored.delete(name);
        handled.delete(name);
      }
    },
    stop: async () => {
      clearInterval(timer);
      await working;
    },
  };
}

function nameOf({ lane, slot }: StoredPlace): string {
  return `${lane}/${slot}`;
}

interface DeletingDeps extends Pick<HandlerDeps, 'failed'> {
  readonly everyMs: number | undefined;
  /** Deletes what is stored at these places. May be repeated. */
  readonly remove: (places: readonly StoredPlace[]) => Promise<void>;
  /** Returns how far the records may be deleted, where that is further than before. Default: all. */
  readonly expired: ((places: readonly PendingPlace[]) => Promise<readonly StoredPlace[]>) | undefined;
}

const deleteEveryMs = 5000;
const expireEveryMs = 60_000;

/** Periodically deletes stored records from a log, immediately or once they have expired. */
export function startDeleting({ everyMs, remove, expired, failed }: DeletingDeps): StoredPlaces {
  return handleStored({
    everyMs: everyMs ?? (expired === undefined ? deleteEveryMs : expireEveryMs),
    failed,
    handle: async (places) => {
      const stored = places.filter(({ seq }) => seq > 0);
      const due = expired === undefined ? stored : await expired(stored);
      if (due.length > 0) await remove(due);
      return due;
    },
  });
}
