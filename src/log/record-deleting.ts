import type { Lane } from './eventlog.ts';

export interface DeletedThrough {
  readonly lane: Lane;
  readonly slot: number;
  /** Everything up to and including this seq is stored. */
  readonly seq: number;
}

interface DeletingDeps {
  readonly everyMs: number;
  /** Deletes what is stored at these places. May be repeated. */
  readonly remove: (places: readonly DeletedThrough[]) => Promise<void>;
  /** Called for a failed attempt, which is repeated. */
  readonly failed: (error: unknown) => Promise<void>;
}

/** Periodically deletes stored records from a log. */
export interface RecordDeleting {
  deleteThrough(place: DeletedThrough): void;
  /** Stops without deleting the rest, which the next holder of the slot does. */
  stop(): Promise<void>;
}

export function startDeleting({ everyMs, remove, failed }: DeletingDeps): RecordDeleting {
  const wanted = new Map<string, DeletedThrough>();
  const deleted = new Map<string, number>();
  let working: Promise<void> = Promise.resolve();

  const keep = (place: DeletedThrough): void => {
    const name = nameOf(place);
    if (place.seq > (wanted.get(name)?.seq ?? 0)) wanted.set(name, place);
  };

  const work = async (): Promise<void> => {
    const places = [...wanted.values()].filter((place) => place.seq > (deleted.get(nameOf(place)) ?? 0));
    wanted.clear();
    try {
      if (places.length > 0) await remove(places);
      for (const place of places) deleted.set(nameOf(place), place.seq);
    } catch (error) {
      for (const place of places) keep(place);
      await failed(error);
    }
  };

  let isWorking = false;
  const timer = setInterval(() => {
    if (isWorking || wanted.size === 0) return;
    isWorking = true;
    working = work().finally(() => (isWorking = false));
  }, everyMs).unref();

  return {
    deleteThrough: keep,
    stop: async () => {
      clearInterval(timer);
      await working;
    },
  };
}

function nameOf({ lane, slot }: DeletedThrough): string {
  return `${lane}/${slot}`;
}
