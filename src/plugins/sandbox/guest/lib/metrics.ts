import { isAskedByLanguage } from './asked-by-language.ts';
import type { Bridge, MetricKind } from './bridge.ts';

const methods: Readonly<Record<MetricKind, string>> = { sum: 'increment', max: 'max', min: 'min' };

/** `meta.metrics.NAME`: `increment`, `max` or `min`, as the plugin declares it; an undeclared name throws. */
export function createMetrics(bridge: Bridge, declared: Readonly<Record<string, MetricKind>>): object {
  const metrics = new Map(Object.entries(declared).map(([name, kind]) => [name, metricOf(bridge, name, kind)]));
  return new Proxy(Object.create(null), {
    get: (_target, name) => {
      const metric = metrics.get(String(name));
      if (metric !== undefined || isAskedByLanguage(name)) return metric;
      throw new Error(`metrics: expected a metric that the plugin exports in \`metrics\`, got "${String(name)}"`);
    },
  });
}

function metricOf(bridge: Bridge, name: string, kind: MetricKind): object {
  const add = (given: unknown = 1): void => {
    const value = Number(given);
    if (!Number.isFinite(value)) throw new TypeError(`metrics.${name}: expected a number, got ${String(given)}`);
    bridge.callSync('metric', [name, kind, value]);
  };
  return { [methods[kind]]: add };
}
