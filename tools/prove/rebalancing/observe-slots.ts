import { setTimeout as sleep } from 'node:timers/promises';
import { databaseTime } from '../../../src/stores/metadata/database-clock.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';

const pollMs = 250;

/** A time during which no live process had a slot. */
export interface Gap {
  readonly slot: number;
  readonly seconds: number;
  /** The process that had it before. */
  readonly after: string;
  /** When it began, s after the observation did. */
  readonly at: number;
}

/** Reads the table of slots as a program that has no part in their distribution. */
export interface SlotObserver {
  /** Resolves with true once a worker has registered that was never seen, which is then `name`; with false when the signal is aborted. */
  joined(name: string, signal: AbortSignal): Promise<boolean>;
  /** The process is gone: from now on its slots have no owner. A worker that was not seen before is its own. */
  left(name: string): Promise<void>;
  /** Resolves once every slot has an owner, and begins to count gaps. */
  begin(): Promise<void>;
  /** Longest gaps first, including those that have not ended. */
  gaps(): readonly Gap[];
  readonly polls: { count: number; slowestMs: number };
  stop(): Promise<void>;
}

export function observeSlots(db: Metadata, slots: number): SlotObserver {
  /** Name of the process by id of its worker. */
  const names = new Map<string, string>();
  const gone = new Set<string>();
  const gaps = createGaps();
  const polls = { count: 0, slowestMs: 0 };
  const over = new AbortController();
  const state: { owned: number; workers: readonly string[] } = { owned: 0, workers: [] };

  const poll = async (): Promise<void> => {
    const asked = performance.now();
    const workers = await db.selectFrom('pipeline_workers').select('id').execute();
    const query = db.selectFrom('slots').select(['slot', 'owner', 'lease_until', databaseTime(db).as('now')]);
    const rows = await query.execute();
    polls.count += 1;
    polls.slowestMs = Math.max(polls.slowestMs, performance.now() - asked);
    state.workers = workers.map(({ id }) => id);
    const isLive = ({ owner, lease_until, now: at }: (typeof rows)[number]): boolean =>
      owner !== null && Number(lease_until) > Number(at) && !gone.has(names.get(owner) ?? '');
    state.owned = rows.filter(isLive).length;
    for (const row of rows) {
      if (isLive(row)) gaps.owned(row.slot, names.get(row.owner ?? '') ?? 'a new process');
      else gaps.free(row.slot, asked);
    }
  };
  const polling = (async () => {
    while (!over.signal.aborted) {
      await poll();
      await sleep(pollMs);
    }
  })();
  /** Gives the name to a worker without one, if there is any. */
  const take = (name: string): boolean => {
    const id = state.workers.find((each) => !names.has(each));
    if (id !== undefined) names.set(id, name);
    return id !== undefined;
  };

  return {
    polls,
    gaps: gaps.all,
    joined: async (name, signal) => {
      while (!signal.aborted) {
        if (take(name)) return true;
        await sleep(pollMs / 5);
      }
      return false;
    },
    left: async (name) => {
      if (![...names.values()].includes(name)) {
        await poll();
        take(name);
      }
      gone.add(name);
      // Now, not when the next poll sees it.
      gaps.freeAllOf(name, performance.now());
    },
    begin: async () => {
      while (state.owned < slots) await sleep(pollMs);
      gaps.begin();
    },
    stop: async () => {
      over.abort();
      await polling;
    },
  };
}

interface OpenGap {
  readonly since: number;
  readonly after: string;
}

/** The times without an owner, by slot. Times are of the monotonic clock, ms. */
function createGaps() {
  const open = new Map<number, OpenGap>();
  const lastOwner = new Map<number, string>();
  const ended: Gap[] = [];
  let began: number | undefined;
  const gapOf = (slot: number, { since, after }: OpenGap): Gap => {
    const from = Math.max(since, began ?? since);
    return { slot, after, seconds: (performance.now() - from) / 1000, at: (from - (began ?? from)) / 1000 };
  };
  const free = (slot: number, since: number): void => {
    if (!open.has(slot)) open.set(slot, { since, after: lastOwner.get(slot) ?? 'none' });
  };
  return {
    free,
    owned: (slot: number, owner: string): void => {
      const gap = open.get(slot);
      if (gap !== undefined && began !== undefined) ended.push(gapOf(slot, gap));
      open.delete(slot);
      lastOwner.set(slot, owner);
    },
    freeAllOf: (name: string, since: number): void => {
      for (const [slot, owner] of lastOwner) if (owner === name) free(slot, since);
    },
    begin: (): void => {
      open.clear();
      began = performance.now();
    },
    all: (): readonly Gap[] => {
      const unended = [...open].map(([slot, gap]) => gapOf(slot, gap));
      return [...ended, ...unended].toSorted((a, b) => b.seconds - a.seconds);
    },
  };
}
