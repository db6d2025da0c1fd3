import type { Clock } from '../../base/clock.ts';
import type { PluginFailure } from '../../plugins/services/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { ChainEvent } from './chain-event.ts';
import type { ConfigCounts } from '../../plugins/services/config-metrics.ts';
import { hourOf } from '../../plugins/services/own-metrics.ts';

/** Distinct kinds of failures of a config per window. */
const kindsMax = 20;

/** Failures of one kind within a window, without secrets; the event is that of the first failure, before the step. */
interface FailureKind extends PluginFailure {
  time: number;
  count: number;
}

export type WhichConfig = { readonly id: number; readonly projectId: number };

/** Counts of a window for the configs that ran. */
export class ChainCounts {
  readonly #clock: Clock;
  #counts = new Map<number, ConfigCounts>();
  #failures = new Map<string, FailureKind>();
  #kinds = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of({ id: configId, projectId }: WhichConfig): ConfigCounts {
    const known = this.#counts.get(configId);
    if (known !== undefined) return known;
    const hour = hourOf(this.#clock.now());
    const counts = { configId, projectId, hour, succeeded: 0, failed: 0, dropped: 0, skipped: 0, micros: 0 };
    this.#counts.set(configId, counts);
    return counts;
  }

  /** Counts a failure. `message` and `stack` without secrets. Returns whether it is the first of its kind in the window. */
  failed(
    config: WhichConfig,
    error: unknown,
    text: { readonly message: string; readonly stack: string },
    event: ChainEvent,
  ): boolean {
    this.of(config).failed += 1;
    const method = error instanceof SandboxError ? error.method : 'processEvent';
    const name = error instanceof SandboxError ? error.errorName : error instanceof Error ? error.name : 'Error';
    const key = [config.id, method, name, text.message].join('\0');
    const known = this.#failures.get(key);
    if (known !== undefined) {
      known.count += 1;
      known.time = this.#clock.now();
      return false;
    }
    const kinds = this.#kinds.get(config.id) ?? 0;
    if (kinds >= kindsMax) return false;
    this.#kinds.set(config.id, kinds + 1);
    const { id: configId, projectId } = config;
    const about = { configId, projectId, method, name, ...text };
    this.#failures.set(key, { ...about, time: this.#clock.now(), count: 1, event: sampleOf(event) });
    return true;
  }

  take(): { readonly counts: readonly ConfigCounts[]; readonly failures: readonly PluginFailure[] } {
    const taken = { counts: [...this.#counts.values()], failures: [...this.#failures.values()] };
    this.#counts = new Map();
    this.#failures = new Map();
    this.#kinds = new Map();
    return taken;
  }
}

/** Copies the event, which changes later. */
function sampleOf(event: ChainEvent): JsonObject {
  const { uuid, event: name, distinctId, timestamp } = event.head;
  const properties = JSON.parse(event.text) as JsonObject;
  return { uuid, event: name, distinct_id: distinctId, timestamp, properties };
}
