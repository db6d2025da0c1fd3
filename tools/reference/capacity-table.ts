import { smallInsertsPerSecondMax } from '../../src/pipeline/slots/slot-consumers.ts';
import { table } from './markdown.ts';
import type { Capacity, CapacityCosts } from './capacity.ts';

/** Events a second of the rows. */
const rates = [1000, 10_000, 50_000, 100_000, 250_000, 500_000];
/** Of a core: above, a peak or the loss of one process leaves no room. */
const busyMax = 0.6;
/** A process with the role `pipeline` computes in one thread, and little beside it. */
const coresOfPipeline = 1;
const safe = 2;
const slotsMin = 64;
const slotsPerPipeline = 4;
const copies = { kafka: 3, store: 2 };
const daySeconds = 86_400;
const hourSeconds = 3600;

/** CPU time of an event in each part, as measured. */
export function costTable({ microsPerEvent: { plain, set } }: Capacity): string {
  const names: Readonly<Record<keyof CapacityCosts, string>> = {
    capture: 'capture',
    pipeline: 'pipelines',
    kafka: 'Kafka, one copy',
    postgres: 'PostgreSQL',
    store: 'event store, one copy',
  };
  const rows = Object.entries(names).map(([part, name]) => {
    const of = (costs: CapacityCosts): string => `${costs[part as keyof CapacityCosts].toFixed(2)} µs`;
    return [name, of(plain), of(set)];
  });
  return table(['CPU time of an event', 'plain', 'with `$set`'], rows);
}

/** What so many events a second take, a row each; plain events first, then such that set properties of their person. */
export function capacityTable(capacity: Capacity): string {
  const { plain, set } = capacity.microsPerEvent;
  const headings = [
    'Events/s',
    'Pipelines, cores',
    'the same with `$set`',
    'Slots',
    'Capture, cores',
    'Kafka, cores',
    'PostgreSQL, cores',
    'ClickHouse, cores',
    'Memory of capture and pipelines',
    'ClickHouse, disk a day',
    'Kafka, disk an hour',
  ];
  const rows = rates.map((rate) => {
    const own = needed(rate, plain, capacity);
    const withSet = needed(rate, set, capacity);
    return [
      rate.toLocaleString('en'),
      `${own.pipelines} (${cores(own.cores.pipeline)})`,
      `${withSet.pipelines} (${cores(withSet.cores.pipeline)})`,
      String(slotsFor(withSet.pipelines)),
      cores(own.cores.capture),
      cores(own.cores.kafka),
      `${cores(own.cores.postgres)}, with \`$set\` ${cores(withSet.cores.postgres)}`,
      cores(own.cores.store),
      gigabytes(own.megabytes * 1_048_576),
      gigabytes(rate * daySeconds * capacity.bytes.eventStored * copies.store),
      gigabytes(rate * hourSeconds * capacity.bytes.eventInLog * copies.kafka),
    ];
  });
  return table(headings, rows);
}

function needed(rate: number, micros: CapacityCosts, { megabytes, pipeline }: Capacity) {
  const coresFor = (cost: number, times = 1): number => (rate * cost * times) / 1e6 / busyMax;
  const of = {
    capture: coresFor(micros.capture),
    // What comes steadily comes in small windows, as many as the pace allows.
    pipeline: coresFor(micros.pipeline) + coresFor(pipeline.millisPerWindow * 1000) * (windowsFor(rate) / rate),
    kafka: coresFor(micros.kafka, copies.kafka),
    postgres: coresFor(micros.postgres),
    store: coresFor(micros.store, copies.store),
  };
  const pipelines = Math.max(safe, Math.ceil(of.pipeline / coresOfPipeline));
  const captures = Math.max(safe, Math.ceil(of.capture));
  return { pipelines, cores: of, megabytes: pipelines * megabytes.pipeline + captures * megabytes.capture };
}

function windowsFor(rate: number): number {
  return Math.min(rate, smallInsertsPerSecondMax);
}

/** Four for each pipeline, and what is free to grow. */
function slotsFor(pipelines: number): number {
  return Math.max(slotsMin, 2 ** Math.ceil(Math.log2(pipelines * slotsPerPipeline)));
}

function cores(value: number): string {
  if (value < 0.05) return '< 0.1';
  return value < 0.95 ? value.toFixed(1) : String(Math.ceil(value - 0.05));
}

function gigabytes(bytes: number): string {
  const value = bytes / 1e9;
  return value < 1000 ? `${value < 10 ? value.toFixed(1) : Math.round(value)} GB` : `${(value / 1000).toFixed(1)} TB`;
}
