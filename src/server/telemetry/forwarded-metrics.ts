import type { MetricName, Metrics } from './metrics.ts';

/** Message from a thread to the main thread, which holds the registry. */
export type MetricMessage =
  | {
      readonly kind: 'count' | 'set';
      readonly name: MetricName;
      readonly labels: Record<string, string>;
      value: number;
    }
  | {
      readonly kind: 'observe';
      readonly name: MetricName;
      readonly labels: Record<string, string>;
      readonly value: number;
    };

const flushEveryMs = 500;

/** Returns metrics for a worker thread that are aggregated and sent in batches. */
export function forwardMetrics(port: { postMessage(message: unknown): void }): Metrics & { flush(): void } {
  const sums = new Map<string, MetricMessage>();
  let observations: MetricMessage[] = [];
  const flush = (): void => {
    if (sums.size === 0 && observations.length === 0) return;
    port.postMessage({ metrics: [...sums.values(), ...observations] });
    sums.clear();
    observations = [];
  };
  setInterval(flush, flushEveryMs).unref();
  const upsert = (kind: 'count' | 'set', name: MetricName, labels: Record<string, string>, value: number): void => {
    const key = `${name} ${JSON.stringify(labels)}`;
    const known = sums.get(key);
    if (!known) sums.set(key, { kind, name, labels, value });
    else if (known.kind !== 'observe') known.value = kind === 'count' ? known.value + value : value;
  };
  return {
    count: (name, labels, by = 1) => upsert('count', name, labels, by),
    set: (name, labels, value) => upsert('set', name, labels, value),
    observe: (name, labels, value) => {
      observations.push({ kind: 'observe', name, labels, value });
    },
    flush,
  };
}

/** Applies messages from a thread. */
export function applyForwarded(metrics: Metrics, messages: readonly MetricMessage[]): void {
  // Sound: forwardMetrics has the same typed signatures, so name, kind and labels match.
  const untyped = metrics as unknown as Record<
    'count' | 'set' | 'observe',
    (name: string, labels: Record<string, string>, value: number) => void
  >;
  for (const { kind, name, labels, value } of messages) untyped[kind](name, labels, value);
}
