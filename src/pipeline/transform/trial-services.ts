import type { PluginCache, PluginStorage } from '../../plugins/host.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { parseStored, storedKey, storedValue, sumOf } from '../../plugins/services/storage-text.ts';
import { trialCharsMax, type TrialBudget } from './trial-budget.ts';
import type { CapturedEvent, InstanceServices, LogLine } from '../../plugins/sandbox/sandbox.ts';

/** Effects of a config other than changing the event. None of them happened outside the trial. */
export interface TrialEffects {
  readonly logs: readonly LogLine[];
  readonly captured: readonly CapturedEvent[];
  readonly jobs: readonly { readonly name: string; readonly payload: JsonObject; readonly runAt: number }[];
  /** By key; null: deleted. */
  readonly storage: Readonly<Record<string, JsonValue>>;
  readonly metrics: readonly { readonly name: string; readonly kind: 'sum' | 'min' | 'max'; readonly value: number }[];
}

export interface TrialServices {
  readonly services: InstanceServices;
  /** Takes the effects since the last call. */
  takeEffects(): TrialEffects & { readonly truncated: readonly (keyof TrialEffects)[] };
}

/** Maximum of each kind between two calls. */
const effectsMax = 1000;

/**
 * Creates services that record effects: reads use the real storage, writes do not. Effects beyond the limits are refused (logs and
 * metrics: dropped), since an endless run would fill the memory.
 */
export function trialServices(stored: PluginStorage, cache: PluginCache, budget: TrialBudget): TrialServices {
  const truncated = new Set<keyof TrialEffects>();
  const bounded = <T extends object>(kind: keyof TrialEffects) => {
    const items: T[] = [];
    const adds = (item: T): boolean => {
      const fits = items.length < effectsMax && budget.takes(item);
      if (fits) items.push(item);
      else truncated.add(kind);
      return fits;
    };
    return { adds, take: () => items.splice(0) };
  };
  const captured = bounded<CapturedEvent>('captured');
  const jobs = bounded<TrialEffects['jobs'][number]>('jobs');
  const logs = bounded<LogLine>('logs');
  const metrics = bounded<TrialEffects['metrics'][number]>('metrics');
  const { storage, takeWritten } = overlay(stored, (key, value) => {
    if (budget.takes(key, value)) return;
    truncated.add('storage');
    throw new Error(`a test shows at most ${megabytes} MB in all; storing "${key.slice(0, 40)}" would be more`);
  });
  return {
    services: {
      storage,
      cache,
      capture: async (event) => {
        if (!captured.adds(event)) throw tooMuch('captures', 'events');
      },
      enqueueJob: async (job) => {
        if (!jobs.adds(job)) throw tooMuch('starts', 'jobs');
      },
      api: async ({ method, path }) => {
        throw new Error(`${method} ${path.split('?')[0]}: a test does not call the API of this service`);
      },
      log: (line) => void logs.adds(line),
      metric: (name, kind, value) => void metrics.adds({ name, kind, value }),
    },
    takeEffects: () => {
      const taken = {
        captured: captured.take(),
        jobs: jobs.take(),
        logs: logs.take(),
        metrics: metrics.take(),
        storage: takeWritten(),
        truncated: [...truncated],
      };
      truncated.clear();
      return taken;
    },
  };
}

const megabytes = trialCharsMax / 1_000_000;

function tooMuch(verb: string, what: string): Error {
  return new Error(`a test ${verb} at most ${effectsMax} ${what}, and shows at most ${megabytes} MB in all`);
}

/** Creates storage whose writes stay in memory. `makeRoom` throws when there is no space. */
function overlay(
  stored: PluginStorage,
  makeRoom: (key: string, value: JsonValue) => void,
): {
  storage: PluginStorage;
  takeWritten: () => Readonly<Record<string, JsonValue>>;
} {
  /** `undefined` marks a deleted key. */
  const changes = new Map<string, JsonValue | undefined>();
  const fresh = new Set<string>();
  const write = (key: string, value: JsonValue | undefined): void => {
    // Refuses what the real storage refuses, and copies objects that the plugin may still change.
    const kept = value === undefined ? undefined : parseStored(storedValue(key, value));
    storedKey(key);
    makeRoom(key, kept ?? null);
    changes.set(key, kept);
    fresh.add(key);
  };
  const get = async (key: string): Promise<JsonValue | undefined> =>
    changes.has(key) ? structuredClone(changes.get(key)) : stored.get(key);
  const storage: PluginStorage = {
    get,
    getMany: async (keys) => {
      const found = new Map(await stored.getMany(keys.filter((key) => !changes.has(key))));
      for (const key of keys) {
        const value = changes.get(key);
        if (value !== undefined) found.set(key, structuredClone(value));
      }
      return found;
    },
    set: async (key, value) => write(key, value),
    delete: async (key) => write(key, undefined),
    increment: async (key, by) => {
      const old = await stored.get(key);
      // A value written while waiting counts.
      const sum = sumOf(key, (changes.has(key) ? changes.get(key) : old) ?? 0, by);
      write(key, sum);
      return sum;
    },
  };
  const takeWritten = () => {
    const written = Object.fromEntries([...fresh].map((key) => [key, changes.get(key) ?? null]));
    fresh.clear();
    return written;
  };
  return { storage, takeWritten };
}
