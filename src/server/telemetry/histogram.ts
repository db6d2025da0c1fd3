import { createLabelCells, type Labels } from './label-cells.ts';

/** A histogram with one preallocated array per combination of labels, so that observing allocates nothing. */
export interface Histogram {
  observe(labels: Labels, value: number): void;
  /** Returns the Prometheus text format without a trailing newline. */
  text(): string;
  points(): readonly HistogramPoint[];
}

export interface HistogramPoint {
  readonly labels: Labels;
  /** Upper bounds, ascending. */
  readonly boundaries: readonly number[];
  /** One more than there are boundaries; not cumulative. */
  readonly counts: readonly number[];
  readonly sum: number;
}

interface Cell {
  /** Counts by upper bound; the last bucket has none. */
  readonly counts: Float64Array;
  sum: number;
}

export function createHistogram(definition: {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}): Histogram {
  const { name, help, labels: names, buckets } = definition;
  const cells = createLabelCells<Cell>(names, () => ({ counts: new Float64Array(buckets.length + 1), sum: 0 }));
  const linesOf = (labels: Labels, { counts, sum }: Cell): string[] => {
    const own = names.map((label) => `${label}="${escaped(labels[label] ?? '')}"`).join(',');
    const inside = own === '' ? '' : `,${own}`;
    let count = 0;
    const lines = [...buckets.map(String), '+Inf'].map((bound, index) => {
      count += counts[index] ?? 0;
      return `${name}_bucket{le="${bound}"${inside}} ${count}`;
    });
    const outside = own === '' ? '' : `{${own}}`;
    return [...lines, `${name}_sum${outside} ${sum}`, `${name}_count${outside} ${count}`];
  };
  return {
    observe(labels, value) {
      if (!Number.isFinite(value)) throw new TypeError(`expected a finite value for ${name}, got: ${value}`);
      const cell = cells.of(labels);
      let index = 0;
      while (index < buckets.length && value > (buckets[index] ?? Infinity)) index += 1;
      cell.counts[index] = (cell.counts[index] ?? 0) + 1;
      cell.sum += value;
    },
    text: () =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} histogram`,
        ...cells.all().flatMap(({ labels, cell }) => linesOf(labels, cell)),
      ].join('\n'),
    points: () =>
      cells
        .all()
        .map(({ labels, cell: { counts, sum } }) => ({ labels, boundaries: buckets, counts: [...counts], sum })),
  };
}

function escaped(value: string): string {
  return value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('"', String.raw`\"`);
}
