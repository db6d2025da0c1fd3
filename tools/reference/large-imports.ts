/** What imports cost, as `npm run bench -- imports --save` has measured it, and what follows from that for very large ones. */
import { table } from './markdown.ts';

/** docs/large-imports.json. */
export interface LargeImports {
  readonly formats: Readonly<Record<string, ImportCosts>>;
}

export interface ImportCosts {
  /** The day. */
  readonly measured: string;
  /** Commit that was measured. */
  readonly version: string;
  readonly records: number;
  readonly events: number;
  /** Of the check, on a machine with as many cores. */
  readonly threads: number;
  /** Load average of the machine when it began: others at work beside it make stages longer. */
  readonly busy: number;
  /** CPU time of an event by stage, and how long it took. */
  readonly cpuMicros: StageMicros;
  readonly wallMicros: StageMicros;
  /** Of an event: in the source; what the run has on disk after the export, after the check, and in the end. */
  readonly bytes: {
    readonly source: number;
    readonly staged: number;
    readonly checked: number;
    readonly ended: number;
  };
  /** All processes together. */
  readonly peakMegabytes: number;
}

export interface StageMicros {
  readonly export: number;
  readonly check: number;
  readonly load: number;
  readonly verify: number;
}

const stages = ['export', 'check', 'load', 'verify'] as const;
const manyEvents = 10_000_000_000;
/** Cores, and how they are used. */
const layouts = [
  { cores: 2, runs: 1, threads: 2 },
  { cores: 16, runs: 2, threads: 8 },
  { cores: 64, runs: 8, threads: 8 },
] as const;

/** A column for each format. */
export function importCostTable({ formats }: LargeImports): string {
  const all = Object.values(formats);
  const row = (name: string, cell: (costs: ImportCosts) => string): string[] => [name, ...all.map(cell)];
  return table(
    ['An event', ...Object.keys(formats)],
    [
      ...stages.map((stage) => row(`${stage}, µs of CPU`, ({ cpuMicros }) => micros(cpuMicros[stage]))),
      row('**all, µs of CPU**', ({ cpuMicros }) => `**${micros(sum(cpuMicros))}**`),
      ...stages.map((stage) => row(`${stage}, µs elapsed`, ({ wallMicros }) => micros(wallMicros[stage]))),
      row('in the source, bytes', ({ bytes }) => bytes.source.toFixed(0)),
      row('staged, bytes', ({ bytes }) => bytes.staged.toFixed(0)),
      row('staged and in the table, bytes', ({ bytes }) => bytes.checked.toFixed(0)),
      row('the same with persons, in the end, bytes', ({ bytes }) => bytes.ended.toFixed(0)),
      row('peak memory of all processes, MB', ({ peakMegabytes }) => peakMegabytes.toFixed(0)),
      row('measured', ({ measured, version, events, threads, busy }) =>
        [measured, version, `${(events / 1e6).toFixed(1)} M events`, `${threads} threads`, `load average ${busy}`].join(
          ', ',
        ),
      ),
    ],
  );
}

/** How long ten billion events take, a row for each layout. */
export function importTimeTable({ formats }: LargeImports): string {
  return table(
    [
      'Cores',
      'Runs side by side × threads',
      ...Object.keys(formats).map((name) => `${name}: export, check, verify + load`),
    ],
    layouts.map((layout) =>
      [String(layout.cores), `${layout.runs} × ${layout.threads}`].concat(
        Object.values(formats).map((costs) => timeOf(costs, layout)),
      ),
    ),
  );
}

function timeOf({ wallMicros, threads }: ImportCosts, layout: (typeof layouts)[number]): string {
  const check = (wallMicros.check * threads) / layout.threads;
  const shared = (manyEvents * (wallMicros.export + check + wallMicros.verify)) / layout.runs;
  return `${days(shared)} + ${days(manyEvents * wallMicros.load)}`;
}

function sum(micros: StageMicros): number {
  return stages.reduce((all, stage) => all + micros[stage], 0);
}

function micros(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}

function days(wholeMicros: number): string {
  const hours = wholeMicros / 3.6e9;
  return hours < 48 ? `${hours.toFixed(hours < 10 ? 1 : 0)} h` : `${(hours / 24).toFixed(1)} days`;
}
