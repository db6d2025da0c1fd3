import type { LiveStage } from '../../wire/contract/live-events.ts';
import type { Sighting, Sightings, Skipped, Watch } from './watch.ts';

/** `steps`: events that are followed through their transformations have a quota of their own. */
type Quota = LiveStage | 'steps';

interface Open {
  readonly watch: Watch;
  readonly used: Map<Quota, number>;
  readonly skipped: Map<LiveStage, number>;
  second: number;
}

/**
 * A place in the flow at which readers of the live stream look on. While nobody watches a project, `isWatched` is all that it
 * costs; while somebody does, each reader gets so many events a second, and a count of the others.
 */
export class Tap {
  readonly #nowMs: () => number;
  #open = new Map<number, Open[]>();
  #seen: Sighting[] = [];

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Everybody who watches from now on. */
  watch(watches: readonly Watch[]): void {
    const known = new Map([...this.#open.values()].flat().map((each) => [each.watch.id, each]));
    const open = watches.map((watch) => known.get(watch.id) ?? newcomer(watch));
    this.#open = Map.groupBy(open, ({ watch }) => watch.projectId);
  }

  isWatched(projectId: number): boolean {
    return this.#open.size > 0 && this.#open.has(projectId);
  }

  /** Whether the event's way through the transformations is to be kept. */
  wantsSteps(projectId: number, event: string, distinctId: string): boolean {
    const wanting = this.#matching(projectId, event, distinctId).filter(({ watch }) => watch.steps);
    return wanting.filter((each) => this.#takes(each, 'steps')).length > 0;
  }

  /** Who is shown an event that is seen at a stage; for the others it is counted. */
  readersOf(projectId: number, stage: LiveStage, event: string, distinctId: string): readonly number[] {
    const shown: number[] = [];
    for (const each of this.#matching(projectId, event, distinctId)) {
      if (!each.watch.stages.includes(stage)) continue;
      if (this.#takes(each, stage)) shown.push(each.watch.id);
      else skip(each, stage, 1);
    }
    return shown;
  }

  /** Events of a stage that nobody has time to look into. */
  skip(projectId: number, stage: LiveStage, count: number): void {
    for (const each of this.#open.get(projectId) ?? []) if (each.watch.stages.includes(stage)) skip(each, stage, count);
  }

  add(sighting: Sighting): void {
    this.#seen.push(sighting);
  }

  /** What was added and counted since the last time. */
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

function newcomer(watch: Watch): Open {
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
