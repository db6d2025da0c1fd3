/** What the measures of a cluster say: whether an event costs the same whoever shares the work, and what a table of capacity needs. */
import { availableParallelism } from 'node:os';
import type { Capacity, CapacityCosts } from '../../reference/capacity.ts';
import { median } from '../../bench/load.ts';
import { parts, type Idle, type Measure, type Part } from './measure.ts';
import { expectedCpu, fitModel, type CostModel } from './model.ts';
import type { StoredSizes } from './sizes.ts';

/** Share by which costs may differ between numbers of processes, and from the model. */
const apartMax = 0.15;
/** What comes steadily costs by the window: more processes make more and smaller ones, up to the pace of small inserts. */
const costsByWindow: ReadonlySet<string> = new Set(['steady', 'trickle']);
/** The model's; events that set properties cost more each, so they are another model. */
const modelled: ReadonlySet<string> = new Set(['plain', 'steady', 'trickle']);
const fittedUpTo = 2;

export function microsPerEvent({ cpu, events }: Measure, part: Part): number {
  return (cpu[part] / events) * 1e6;
}

function totalMicros(measure: Measure): number {
  return parts.reduce((sum, part) => sum + microsPerEvent(measure, part), 0);
}

/** What may not depend on how many share the work: of an event, or of a window. */
function comparedCost({ shape, cpu, windows, events }: Measure): number {
  return cpu.pipelines / (costsByWindow.has(shape) ? windows : events);
}

function range(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;
}

/** As tables, with the verdict. */
export function conclude(
  measures: readonly Measure[],
  idles: readonly Idle[],
): { readonly lines: string[]; readonly isFlat: boolean } {
  const lines = [
    '',
    '| events | pipelines | windows | pipelines, µs an event | all parts | of one pipeline, the least disturbed run of each |',
    '|---|---|---|---|---|---|',
  ];
  let worst = 0;
  for (const [shape, ofShape] of Map.groupBy(measures, (each) => each.shape)) {
    let first: number | undefined;
    for (const [number, own] of [...Map.groupBy(ofShape, ({ pipelines }) => pipelines)].toSorted(([a], [b]) => a - b)) {
      const cost = own.map((each) => microsPerEvent(each, 'pipelines'));
      const least = Math.min(...own.map(comparedCost));
      first ??= least;
      const share = least / first;
      worst = Math.max(worst, Math.abs(share - 1));
      const windows = median(own.map((each) => each.windows));
      lines.push(
        `| ${shape} | ${number} | ${windows} | ${range(cost)} | ${range(own.map(totalMicros))} | ${share.toFixed(2)} |`,
      );
    }
  }
  const { model, error, checked } = modelOf(measures, idles);
  lines.push(
    '',
    `model of pipelines: ${(model.idle * 1000).toFixed(1)} ms a second and process, ${(model.perWindow * 1000).toFixed(2)} ms a window, ` +
      `${(model.perEvent * 1e6).toFixed(2)} µs an event`,
    ...checked,
  );
  return { lines, isFlat: worst <= apartMax && error <= apartMax };
}

/** Fitted to the smaller numbers of processes, and checked against the larger ones. */
function modelOf(
  measures: readonly Measure[],
  idles: readonly Idle[],
): { readonly model: CostModel; readonly error: number; readonly checked: string[] } {
  const work = measures
    .filter(({ shape }) => modelled.has(shape))
    .map(({ shape, pipelines: processes, pipelinesCpu: cpu, seconds, windows, events }) => {
      return { shape, processes, cpu, seconds, windows, events };
    });
  const idle = median(idles.map((each) => each.idle.pipelines / each.pipelines));
  const model = fitModel(
    work.filter(({ processes }) => processes <= fittedUpTo),
    idle,
  );
  let error = 0;
  const checked: string[] = [];
  const others = work.filter(({ processes }) => processes > fittedUpTo);
  for (const [name, own] of Map.groupBy(others, ({ shape, processes }) => `${shape}, ${processes} pipelines`)) {
    const ratios = own.map((each) => each.cpu / expectedCpu(model, each));
    error = Math.max(error, Math.abs(median(ratios) - 1));
    checked.push(`${name}: ${range(ratios)} of what the model expects`);
  }
  return { model, error, checked };
}

/** For docs/guides/capacity.json. */
export function capacityOf(measures: readonly Measure[], idles: readonly Idle[], sizes: StoredSizes): Capacity {
  const costsOf = (shape: string): CapacityCosts => {
    const own = measures.filter((each) => each.shape === shape);
    const micros = (part: Part): number => rounded(median(own.map((each) => microsPerEvent(each, part))));
    const [capture, pipeline, kafka] = [micros('capture'), micros('pipelines'), micros('kafka')];
    return { capture, pipeline, kafka, postgres: micros('postgres'), store: micros('store') };
  };
  const plain = measures.filter(({ shape }) => shape === 'plain');
  const { model } = modelOf(measures, idles);
  return {
    measured: new Date().toISOString().slice(0, 10),
    cores: availableParallelism(),
    microsPerEvent: { plain: costsOf('plain'), set: costsOf('set') },
    pipeline: {
      idleMillisPerSecond: rounded(model.idle * 1000),
      millisPerWindow: rounded(model.perWindow * 1000),
      microsPerEvent: rounded(model.perEvent * 1e6),
    },
    megabytes: {
      capture: Math.ceil(Math.max(...measures.map(({ resident }) => resident.capture)) / 1_048_576),
      pipeline: Math.ceil(Math.max(...measures.map(({ resident }) => resident.pipeline)) / 1_048_576),
    },
    bytes: {
      eventInLog: Math.round(median(plain.map(({ logBytes, events }) => logBytes / events))),
      eventStored: Math.round(sizes.eventBytes),
      person: Math.round(sizes.personBytes),
    },
  };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
