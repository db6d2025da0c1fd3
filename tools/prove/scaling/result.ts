/** Evaluates the measurements of a cluster: whether the cost of an event depends on how many share the work, and the values for a table of capacity. */
import { availableParallelism } from 'node:os';
import type { Capacity, CapacityCosts } from '../../reference/capacity.ts';
import { median } from '../../bench/load.ts';
import { parts, type Idle, type Measure, type Part } from './measure.ts';
import { expectedCpu, fitModel, type CostModel } from './model.ts';
import type { StoredSizes } from './sizes.ts';

/** Share by which an event may be dearer with more processes, and costs may differ from the model. */
const apartMax = 0.15;
/** The model's; events that set properties cost more each, so they are another model. */
const modelled: ReadonlySet<string> = new Set(['plain', 'steady', 'trickle']);
const fittedUpTo = 2;

export function microsPerEvent({ cpu, events }: Measure, part: Part): number {
  return (cpu[part] / events) * 1e6;
}

function totalMicros(measure: Measure): number {
  return parts.reduce((sum, part) => sum + microsPerEvent(measure, part), 0);
}

/** The least disturbed of some runs. */
function least(measures: readonly Measure[], cost: (measure: Measure) => number): number {
  return Math.min(...measures.map(cost));
}

const ofPipelines = (measure: Measure): number => microsPerEvent(measure, 'pipelines');
const ofWindow = ({ cpu, windows }: Measure): number => cpu.pipelines / windows;

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
    'Costs of an event in µs, and in brackets how often that of one pipeline, the least disturbed run of each:',
    '',
    '| events | pipelines | windows | all parts | pipelines | a window of the pipelines |',
    '|---|---|---|---|---|---|',
  ];
  let worst = 0;
  for (const [shape, ofShape] of Map.groupBy(measures, (each) => each.shape)) {
    const numbers = [...Map.groupBy(ofShape, ({ pipelines }) => pipelines)].toSorted(([a], [b]) => a - b);
    const [, one = []] = numbers[0] ?? [];
    for (const [number, own] of numbers) {
      const share = (cost: (measure: Measure) => number): number => least(own, cost) / least(one, cost);
      worst = Math.max(worst, share(totalMicros) - 1);
      const cells = [totalMicros, ofPipelines].map((cost) => `${range(own.map(cost))} [${share(cost).toFixed(2)}]`);
      const windows = median(own.map((each) => each.windows));
      lines.push(`| ${shape} | ${number} | ${windows} | ${cells.join(' | ')} | [${share(ofWindow).toFixed(2)}] |`);
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
