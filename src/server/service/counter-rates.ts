import type { CounterName, MetricsRegistry } from '../telemetry/metrics.ts';

export interface CounterRate {
  readonly labels: Readonly<Record<string, string>>;
  /** Since the start of the service. */
  readonly total: number;
  /** How much of it came within the last minute. */
  readonly lastMinute: number;
}

export interface CounterRates {
  of(name: CounterName): Promise<readonly CounterRate[]>;
}

const lookEveryMs = 5_000;
const looksMax = 12;

/** Remembers for a minute how counters stood, so that the hot paths which count have nothing more to do. */
export function startCounterRates(
  metrics: Pick<MetricsRegistry, 'values'>,
  names: readonly CounterName[],
  parts: AsyncDisposableStack,
): CounterRates {
  const before = new Map<CounterName, ReadonlyMap<string, number>[]>(names.map((name) => [name, []]));
  const look = async (): Promise<void> => {
    for (const [name, looks] of before) {
      looks.push(new Map((await metrics.values(name)).map(({ labels, value }) => [keyOf(labels), value])));
      if (looks.length > looksMax) looks.shift();
    }
  };
  const looking = setInterval(() => void look(), lookEveryMs).unref();
  parts.defer(() => clearInterval(looking));
  return {
    of: async (name) => {
      const looks = before.get(name) ?? [];
      // Less than a minute after the start all of it is new.
      const oldest = looks.length < looksMax ? undefined : looks[0];
      const values = await metrics.values(name);
      return values.map(({ labels, value }) => ({
        labels,
        total: value,
        lastMinute: value - (oldest?.get(keyOf(labels)) ?? 0),
      }));
    },
  };
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort());
}
