import type { PluginCache, PluginStorage } from '../plugins/host.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { parseStored, storedKey, storedValue, sumOf } from '../plugins/services/storage-text.ts';
import type { CapturedEvent, InstanceServices, LogLine } from '../sandbox/sandbox.ts';

/** What a config did besides changing the event. None of it has happened outside the trial. */
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
  /** What was done since the last call. */
  takeEffects(): TrialEffects;
}

/** Of each kind between two takes; what is beyond is refused, as a run that never ends would fill the memory. */
const effectsMax = 1000;

/** Services that keep what they are asked to do: reading goes through to what is there, writing does not. */
export function trialServices(stored: PluginStorage, cache: PluginCache): TrialServices {
  const captured = bounded<CapturedEvent>('captures', 'events');
  const jobs = bounded<TrialEffects['jobs'][number]>('starts', 'jobs');
  const logs: LogLine[] = [];
  const metrics: TrialEffects['metrics'][number][] = [];
  const { storage, takeWritten } = overlay(stored);
  return {
    services: {
      storage,
      cache,
      capture: async (event) => captured.add(event),
      enqueueJob: async (job) => jobs.add(job),
      api: async ({ method, path }) => {
        throw new Error(`${method} ${path.split('?')[0]}: a test does not call the API of this service`);
      },
      log: (line) => {
        if (logs.length < effectsMax) logs.push(line);
      },
      metric: (name, kind, value) => {
        if (metrics.length < effectsMax) metrics.push({ name, kind, value });
      },
    },
    takeEffects: () => ({
      captured: captured.take(),
      jobs: jobs.take(),
      logs: logs.splice(0),
      metrics: metrics.splice(0),
      storage: takeWritten(),
    }),
  };
}

function bounded<T>(verb: string, what: string): { add(item: T): void; take(): T[] } {
  const items: T[] = [];
  return {
    add: (item) => {
      if (items.length >= effectsMax) throw new Error(`a test ${verb} at most ${effectsMax} ${what}`);
      items.push(item);
    },
    take: () => items.splice(0),
  };
}

/** Storage whose writes stay here. */
function overlay(stored: PluginStorage): {
  storage: PluginStorage;
  takeWritten: () => Readonly<Record<string, JsonValue>>;
} {
  /** Undefined: deleted. */
  const changes = new Map<string, JsonValue | undefined>();
  const fresh = new Set<string>();
  const write = (key: string, value: JsonValue | undefined): void => {
    // Refuses what the real one refuses, and keeps no object that somebody may still change.
    const kept = value === undefined ? undefined : parseStored(storedValue(key, value));
    storedKey(key);
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
      // Whatever was written while waiting counts.
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
