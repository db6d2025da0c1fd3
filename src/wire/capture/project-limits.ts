import type { AcceptedBatch } from '../batch/ingest.ts';
import { applyDefaults, type LimitOverrides, type LimitValues } from '../contract/project-limits.ts';
import { ProjectMeters, rateNames, type RateName } from './project-meters.ts';

type Sent = Pick<AcceptedBatch, 'lane' | 'projectId' | 'events'>;

export interface RateRefusal {
  readonly limit: RateName;
  /** The limit of the project. */
  readonly value: number;
  readonly retryAfterSeconds: number;
}

/** What projects may send. Answers from memory: a request costs no query. */
export interface ProjectLimits {
  limitsOf(projectId: number): LimitValues;
  /** Counts a batch, or returns why it is not admitted now. */
  take(batch: Sent, bytes: number): RateRefusal | undefined;
  /** Gives back a batch that could not be stored. */
  giveBack(batch: Sent, bytes: number): void;
  /** Replaces the overrides. A project with changed limits starts with full buckets. */
  replace(overrides: ReadonlyMap<number, LimitOverrides>): void;
  readonly meters: ProjectMeters;
}

/** A longer wait is shortened: limits can be raised in the meantime. */
const retryAfterSecondsMax = 60;

export function createProjectLimits(
  defaults: LimitValues,
  nowMs: () => number = () => performance.now(),
): ProjectLimits {
  const meters = new ProjectMeters(nowMs);
  let effective: ReadonlyMap<number, LimitValues> = new Map();
  const limitsOf = (projectId: number): LimitValues => effective.get(projectId) ?? defaults;
  return {
    meters,
    limitsOf,
    take: ({ lane, projectId, events }, bytes) => {
      const limits = limitsOf(projectId);
      if (limits.events_per_second === 0 && limits.bytes_per_second === 0) return undefined;
      const rates = meters.find(lane, projectId) ?? meters.create(lane, projectId, limits);
      const now = nowMs();
      const forEvents = rates.events_per_second?.offer(events, now) ?? 0;
      const forBytes = rates.bytes_per_second?.offer(bytes, now) ?? 0;
      if (forEvents > 0 || forBytes > 0) {
        const limit = forEvents >= forBytes ? 'events_per_second' : 'bytes_per_second';
        const seconds = Math.ceil(Math.max(forEvents, forBytes));
        return { limit, value: limits[limit], retryAfterSeconds: Math.min(seconds, retryAfterSecondsMax) };
      }
      if (rates.events_per_second !== undefined) rates.events_per_second.tokens -= events;
      if (rates.bytes_per_second !== undefined) rates.bytes_per_second.tokens -= bytes;
      return undefined;
    },
    giveBack: ({ lane, projectId, events }, bytes) => {
      const rates = meters.find(lane, projectId);
      if (rates?.events_per_second !== undefined) rates.events_per_second.tokens += events;
      if (rates?.bytes_per_second !== undefined) rates.bytes_per_second.tokens += bytes;
    },
    replace: (overrides) => {
      const before = effective;
      effective = new Map([...overrides].map(([id, own]) => [id, applyDefaults(own, defaults)]));
      for (const id of new Set([...before.keys(), ...effective.keys()])) {
        const [old, now] = [before.get(id) ?? defaults, limitsOf(id)];
        if (!rateNames.every((name) => old[name] === now[name])) meters.forget(id);
      }
    },
  };
}
