import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ImportCosts, LargeImports, StageMicros } from '../reference/large-imports.ts';
import type { ImportFigures, StageFigures } from './import-run.ts';
import { median } from './load.ts';

const file = new URL('../../docs/large-imports.json', import.meta.url);

/**
 * Medians of runs with the same number of threads, in the place of those of the format; `npm run docs` makes tables of them.
 * `busy`: the load average of the machine when it began.
 */
export function saveImportCosts(format: string, threads: number, busy: number, runs: readonly ImportFigures[]): void {
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as LargeImports) : { formats: {} };
  const formats = { ...known.formats, [format]: { ...costsOf(threads, runs), busy: Number(busy.toFixed(1)) } };
  writeFileSync(file, `${JSON.stringify({ formats }, undefined, 2)}\n`);
}

function costsOf(threads: number, runs: readonly ImportFigures[]): Omit<ImportCosts, 'busy'> {
  const middle = (figure: (run: ImportFigures) => number): number => Number(median(runs.map(figure)).toPrecision(3));
  const micros = (of: (stage: StageFigures) => number): StageMicros => ({
    export: middle(({ stages, events }) => (of(stages.export) * 1e6) / events),
    check: middle(({ stages, events }) => (of(stages.check) * 1e6) / events),
    load: middle(({ stages, events }) => (of(stages.load) * 1e6) / events),
    verify: middle(({ stages, events }) => (of(stages.verify) * 1e6) / events),
  });
  const [some] = runs;
  if (some === undefined) throw new Error('expected a run');
  return {
    measured: new Date().toISOString().slice(0, 10),
    version: execFileSync('git', ['describe', '--always'], { encoding: 'utf8' }).trim(),
    records: some.records,
    events: some.events,
    threads,
    cpuMicros: micros(({ cpuSeconds }) => cpuSeconds),
    wallMicros: micros(({ seconds }) => seconds),
    bytes: {
      source: middle(({ sourceBytes, events }) => sourceBytes / events),
      staged: middle(({ stages, events }) => stages.export.diskBytes / events),
      checked: middle(({ stages, events }) => stages.check.diskBytes / events),
      ended: middle(({ stages, events }) => stages.report.diskBytes / events),
    },
    peakMegabytes: Math.round(Math.max(...runs.map(({ peakBytes }) => peakBytes)) / 1_048_576),
  };
}
