import type { LiveStage } from '../../wire/contract/live-events.ts';
import type { Sighting, Sightings, Skipped, Watch } from './watch.ts';

/** `steps`: events that are traced through the transformations have a separate quota. */
type Quota = LiveStage | 'steps';

interface Open {
  readonly watch: Watch;
  readonly used: Map<Quota, number>;
  readonly skipped: Map<LiveStage, number>;
  second: number;
}

/**
 * Collects sightings for readers of the live stream. While no reader watches a project, its only cost is `isWatched`; otherwise each
 * reader gets a limited number of events per second, and a count of the others.
 */
export class Tap {
  readonly #nowMs: () => number;
  #open = new Map<number, Open[]>();
  #seen: Sighting[] = [];

  /** @param nowMs a monotonic clock */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Sets the current watches. */
  watch(watches: readonly Watch[]): void {
    const known = new Map([...this.#open.values()].flat().map((each) => [each.watch.id, each]));
    const open = watches.map((watch) => known.get(watch.id) ?? openWatch(watch));
    this.#open = Map.groupBy(open, ({ watch }) => watch.projectId);
  }

  isWatched(projectId: number): boolean {
    return this.#open.size > 0 && this.#open.has(projectId);
  }

  /** Whether a reader wants the event traced through the transformations. */
  wantsSteps(projectId: number, event: string, distinctId: string): boolean {
    const wanting = this.#matching(projectId, event, distinctId).filter(({ watch }) => watch.steps);
    return wanting.filter((each) => this.#takes(each, 'steps')).length > 0;
  }

  /** Returns the readers that are shown an event at a stage, and counts it for those over their quota. */
  readersOf(projectId: number, stage: LiveStage, event: string, distinctId: string): readonly number[] {
    const shown: number[] = [];
    for (const each of this.#matching(projectId, event, distinctId)) {
      if (!each.watch.stages.includes(stage)) continue;
      if (this.#takes(each, stage)) shown.push(each.watch.id);
      else skip(each, stage, 1);
    }
    return shown;
  }

  /** Counts events of a stage that are not inspected. */
  skip(projectId: number, stage: LiveStage, count: number): void {
    for (const each of this.#open.get(projectId) ?? []) if (each.watch.stages.includes(stage)) skip(each, stage, count);
  }

  add(sighting: Sighting): void {
    this.#seen.push(sighting);
  }

  /** Takes the sightings and counts since the last call. */
  take(): Sightings {
    const seen = this.#seen;
    this.#seen = [];
    const skipped = [...this.#open.values()].flat().flatMap(takeSkipped);
    return { seen, skipped };
  }

  #matching(projectId: number, event: string, distinctId: string): readonly Open[] {
    const open = this.#open.get(projectId) ?? [];
    return open.filter(
      ({ watch }) =>
        (watch.event === undefined || watch.event === event) &&
        (watch.distinctId === undefined || watch.distinctId === distinctId),
    );
  }

  #takes(open: Open, quota: Quota): boolean {
    const second = Math.floor(this.#nowMs() / 1000);
    if (open.second !== second) {
      open.second = second;
      open.used.clear();
    }
    const used = open.used.get(quota) ?? 0;
    if (used >= open.watch.perSecond) return false;
    open.used.set(quota, used + 1);
    return true;
  }
}

function openWatch(watch: Watch): Open {
  return { watch, used: new Map(), skipped: new Map(), second: -1 };
}

function skip({ skipped }: Open, stage: LiveStage, count: number): void {
  skipped.set(stage, (skipped.get(stage) ?? 0) + count);
}

function takeSkipped({ watch, skipped }: Open): Skipped[] {
  const counts = [...skipped].map(([stage, count]) => ({ watch: watch.id, stage, count }));
  skipped.clear();
  return counts;
}
