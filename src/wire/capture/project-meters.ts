import { lanes, type Lane } from '../../log/eventlog.ts';
import type { SharedCounts } from '../../server/http/rate-limit.ts';
import type { LimitValues } from '../contract/project-limits.ts';
import { Meter } from './meter.ts';

/** Limits per second; the backlog is counted by the log. */
export const rateNames = ['events_per_second', 'bytes_per_second'] as const;
export type RateName = (typeof rateNames)[number];

/** `undefined` for what is not limited. */
export type ProjectRates = Readonly<Record<RateName, Meter | undefined>>;

/** A project is near a limit that it uses to this part. */
const near = 0.8;
/** Window over which the database adds up what processes were offered; only differences are read. */
const sumsWindowMs = 3_600_000;

/** The meters of the projects that have sent something recently. */
export class ProjectMeters implements SharedCounts {
  /** Number of processes that share the limits. */
  processes = 1;
  readonly #byLane: Readonly<Record<Lane, Map<number, ProjectRates>>> = { live: new Map(), historical: new Map() };
  readonly #nowMs: () => number;
  #tickedAt: number;
  #published = new Map<string, Meter>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#tickedAt = nowMs();
  }

  find(lane: Lane, projectId: number): ProjectRates | undefined {
    return this.#byLane[lane].get(projectId);
  }

  /** Creates the meters of a project, with full buckets. */
  create(lane: Lane, projectId: number, limits: LimitValues): ProjectRates {
    const meterOf = (limit: number): Meter | undefined =>
      limit === 0 ? undefined : new Meter(limit, this.processes, this.#nowMs());
    const rates = {
      events_per_second: meterOf(limits.events_per_second),
      bytes_per_second: meterOf(limits.bytes_per_second),
    };
    this.#byLane[lane].set(projectId, rates);
    return rates;
  }

  forget(projectId: number): void {
    for (const lane of lanes) this.#byLane[lane].delete(projectId);
  }

  /** Averages what was offered since the last call, and forgets idle projects. */
  tick(processes: number): void {
    this.processes = processes;
    const now = this.#nowMs();
    const seconds = Math.max(0.001, (now - this.#tickedAt) / 1000);
    this.#tickedAt = now;
    for (const lane of lanes) {
      for (const [id, rates] of this.#byLane[lane]) {
        const meters = metersOf(rates);
        for (const [, meter] of meters) meter.tick(seconds, processes);
        if (meters.every(([, meter]) => meter.isIdle(now))) this.#byLane[lane].delete(id);
      }
    }
  }

  /** Number of projects that were offered at least four fifths of a limit, in either lane. */
  nearLimit(name: RateName): number {
    const ids = new Set<number>();
    for (const lane of lanes) {
      for (const [id, { [name]: meter }] of this.#byLane[lane]) {
        if (meter !== undefined && meter.all >= near * meter.limit) ids.add(id);
      }
    }
    return ids.size;
  }

  unpublished(): ReturnType<SharedCounts['unpublished']> {
    this.#published = new Map();
    for (const lane of lanes) {
      for (const [id, rates] of this.#byLane[lane]) {
        for (const [name, meter] of metersOf(rates)) {
          if (meter.isShared(this.processes)) this.#published.set(`${id} ${lane} ${name}`, meter);
        }
      }
    }
    return [...this.#published].map(([caller, meter]) => {
      return { caller, windowMs: sumsWindowMs, more: meter.unpublished() };
    });
  }

  learn({ caller, used }: Parameters<SharedCounts['learn']>[0]): void {
    this.#published.get(caller)?.learn(used, this.processes);
  }
}

function metersOf(rates: ProjectRates): (readonly [RateName, Meter])[] {
  return rateNames.flatMap((name) => {
    const meter = rates[name];
    return meter === undefined ? [] : [[name, meter] as const];
  });
}
