import { isAskedByLanguage } from './asked-by-language.ts';
import type { Bridge } from './bridge.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Singular and plural. A month is 30 days, a quarter 13 weeks, a year 365 days. */
const unitMs: Readonly<Record<string, number>> = {
  millisecond: 1,
  second,
  minute,
  hour,
  day,
  week: 7 * day,
  month: 30 * day,
  quarter: 91 * day,
  year: 365 * day,
};

interface JobStarter {
  readonly runNow: () => Promise<void>;
  readonly runIn: (duration: unknown, unit: unknown) => Promise<void>;
  readonly runAt: (time: unknown) => Promise<void>;
}

/** `meta.jobs.NAME(payload)`: enqueues only when one of the three methods is called. */
export function createJobs(bridge: Bridge): Readonly<Record<string, (payload?: unknown) => JobStarter>> {
  return new Proxy(Object.create(null), {
    get: (_target, name) =>
      isAskedByLanguage(name) ? undefined : (payload?: unknown) => starterOf(bridge, String(name), payload),
  });
}

function starterOf(bridge: Bridge, name: string, given: unknown): JobStarter {
  const enqueue = async (runAt: number): Promise<void> => {
    await bridge.call('job', [{ name, payload: payloadOf(name, given), runAt }]);
  };
  return {
    runNow: () => enqueue(bridge.now()),
    runIn: async (duration, unit) => enqueue(bridge.now() + durationMs(name, duration, unit)),
    runAt: async (time) => enqueue(timeOf(name, time)),
  };
}

function payloadOf(name: string, given: unknown): unknown {
  if (given === undefined || given === null) return {};
  if (typeof given === 'object' && !Array.isArray(given)) return given;
  const got = Array.isArray(given) ? 'an array' : `a ${typeof given}`;
  throw new TypeError(`jobs.${name}: expected an object as payload, got ${got}; wrap it in one: { value: … }`);
}

function durationMs(name: string, duration: unknown, unit: unknown): number {
  const unitName = String(unit);
  const singular = unitName.replace(/s$/, '');
  const ms = Object.hasOwn(unitMs, singular) ? unitMs[singular] : undefined;
  if (ms === undefined) {
    const known = Object.keys(unitMs).join(', ');
    throw new TypeError(`jobs.${name}.runIn: expected one of the units ${known} (or their plurals), got ${unitName}`);
  }
  const number = Number(duration);
  if (!Number.isFinite(number)) {
    throw new TypeError(`jobs.${name}.runIn: expected a number of ${unitName}, got ${String(duration)}`);
  }
  return Math.round(number * ms);
}

function timeOf(name: string, time: unknown): number {
  const ms = new Date(time instanceof Date || typeof time === 'number' ? time : String(time)).getTime();
  if (Number.isNaN(ms)) throw new TypeError(`jobs.${name}.runAt: expected a Date, got ${String(time)}`);
  return ms;
}
