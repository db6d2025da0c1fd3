import type { PluginCache, PluginStorage } from '../plugins/host.ts';
import type { JsonObject, JsonValue } from '../plugins/plugin.ts';
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
  effects(): TrialEffects;
}

/** Of each kind; what is beyond is refused, as a run that never ends would fill the memory. */
const effectsMax = 1000;

/** Services that keep what they are asked to do: reading goes through to what is there, writing does not. */
export function trialServices(stored: PluginStorage, cache: PluginCache): TrialServices {
  const logs: LogLine[] = [];
  const captured: CapturedEvent[] = [];
  const jobs: TrialEffects['jobs'][number][] = [];
  const metrics: TrialEffects['metrics'][number][] = [];
  const { storage, written } = overlay(stored);
  return {
    services: {
      storage,
      cache,
      capture: async (event) => {
        if (captured.length >= effectsMax) throw new Error(`a test captures at most ${effectsMax} events`);
        captured.push(event);
      },
      enqueueJob: async (job) => {
        if (jobs.length >= effectsMax) throw new Error(`a test starts at most ${effectsMax} jobs`);
        jobs.push(job);
      },
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
    effects: () => ({ logs, captured, jobs, metrics, storage: written() }),
  };
}

/** Storage whose writes stay here. */
function overlay(stored: PluginStorage): {
  storage: PluginStorage;
  written: () => Readonly<Record<string, JsonValue>>;
} {
  /** Undefined: deleted. */
  const changes = new Map<string, JsonValue | undefined>();
  const get = async (key: string): Promise<JsonValue | undefined> =>
    changes.has(key) ? changes.get(key) : stored.get(key);
  const storage: PluginStorage = {
    get,
    getMany: async (keys) => {
      const found = new Map(await stored.getMany(keys.filter((key) => !changes.has(key))));
      for (const key of keys) {
        const value = changes.get(key);
        if (value !== undefined) found.set(key, value);
      }
      return found;
    },
    set: async (key, value) => void changes.set(key, value),
    delete: async (key) => void changes.set(key, undefined),
    increment: async (key, by) => {
      const old = await stored.get(key);
      // Whatever was written while waiting counts.
      const before = (changes.has(key) ? changes.get(key) : old) ?? 0;
      if (typeof before !== 'number') {
        throw new Error(`storage: expected a number under "${key}" to add to, got: ${typeof before}`);
      }
      changes.set(key, before + by);
      return before + by;
    },
  };
  return { storage, written: () => Object.fromEntries([...changes].map(([key, value]) => [key, value ?? null])) };
}
