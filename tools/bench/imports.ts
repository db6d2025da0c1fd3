import { fork } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { findFormat } from '../../src/imports/formats/registry.ts';
import { plans, type Plan } from '../../test/support/planted-plans.ts';
import { megabytes } from './end-to-end.ts';
import { measureImport, stages, type ImportFigures } from './import-run.ts';
import { median } from './load.ts';
import { thousands } from './pairs.ts';
import { prepareRawRows, type RawEvent, type RawInsert } from './raw-insert.ts';
import { saveImportCosts } from './save-import-costs.ts';
import { benchDataDir } from './server.ts';

export interface ImportBench {
  /** Slugs of formats whose records are lines of JSON. */
  readonly formats: readonly string[];
  readonly records: number;
  readonly rounds: number;
  /** For the check, one run each. */
  readonly threads: readonly number[];
  /** With one enabled transformation in the sandbox, which changes a property of each event. */
  readonly isTransformed: boolean;
  /** Into docs/large-imports.json: the figures of the last number of threads. */
  readonly isSaved: boolean;
}

const seed = 1;
/** As on a website: persons come, do a few things, and may return another day. */
const recordsPerVisit = 5;
/** The baseline needs no more rows: its cost per row does not depend on their number. */
const rawEventsMax = 1_000_000;
const transformation = `exports.processEvent = (event) => {
  event.properties.bench = String(event.properties.$current_url || '').length;
  return event;
};`;

/**
 * Whole import runs, export to report, of generated records, beside (a) the raw insert of the same rows, before and after the runs of
 * each round, and of Mixpanel (b) the npm package mixpanel-import reading and transforming the same file without sending; (b) is
 * skipped unless BENCH_MIXPANEL_IMPORT names the directory of the package.
 */
export async function benchImports(bench: ImportBench): Promise<string> {
  const tables: string[] = [];
  for (const format of bench.formats) tables.push(await benchFormat(format, bench));
  return tables.join('\n\n');
}

async function benchFormat(slug: string, bench: ImportBench): Promise<string> {
  const plan = Object.hasOwn(plans, slug) ? plans[slug] : undefined;
  if (plan === undefined) throw new Error(`expected one of ${Object.keys(plans).join(', ')}, got: ${slug}`);
  const [busy = 0] = loadavg();
  const dir = benchDataDir();
  const file = join(dir.path, 'export.ndjson');
  await pipeline(Readable.from(lines(plan, bench.records)), createWriteStream(file));
  const rows = prepareRawRows(first(rawEventsMax, events(slug, plan, bench.records)));
  const rounds: Round[] = [];
  let before = await rows.insert();
  for (let round = 0; round < bench.rounds; round += 1) {
    const runs: ImportFigures[] = [];
    for (const threads of bench.threads) {
      runs.push(
        await measureImport({
          file,
          format: slug,
          formatOptions: plan.options,
          threads,
          transformation: bench.isTransformed ? transformation : undefined,
        }),
      );
    }
    const packaged = slug === 'mixpanel' ? await throughPackage(file) : undefined;
    const after = await rows.insert();
    rounds.push({ runs, packaged, raw: [before, after] });
    before = after;
  }
  rows.remove();
  dir.remove();
  if (bench.isSaved)
    saveImportCosts(
      slug,
      bench.threads.at(-1) ?? 1,
      busy,
      rounds.flatMap(({ runs }) => runs.slice(-1)),
    );
  return showRounds(`${slug}${bench.isTransformed ? ', one transformation' : ''}`, bench.threads, rounds);
}

/** One run for each number of threads. */
interface Round {
  readonly runs: readonly ImportFigures[];
  readonly packaged: PackageRun | undefined;
  /** Before and after. */
  readonly raw: readonly [RawInsert, RawInsert];
}

function showRounds(name: string, threads: readonly number[], rounds: readonly Round[]): string {
  const [some] = rounds[0]?.runs ?? [];
  if (some === undefined) throw new Error('expected a round with a run');
  const rawPerCpu = (round: Round): number => (round.raw[0].perCpuSecond + round.raw[1].perCpuSecond) / 2;
  const ofRuns = (at: number, figure: (run: ImportFigures, round: Round) => number): number[] =>
    rounds.flatMap((round) => round.runs.slice(at, at + 1).map((run) => figure(run, round)));
  const verdicts = new Set(rounds.flatMap(({ runs }) => runs.map(({ verdict }) => verdict)));
  const packaged = rounds.flatMap((round) => (round.packaged === undefined ? [] : [{ ...round.packaged, round }]));
  const count = (value: number): string => value.toLocaleString('en-US');
  return [
    `${count(some.records)} records of ${name}, ${count(some.events)} events; verified: ${[...verdicts].join(', ')}; rounds: ${rounds.length}.`,
    '',
    '| | events per CPU-s | of the raw insert (min–max) | µs of CPU an event | events/s | records/s of export and check | records per CPU-s of them | peak memory |',
    '|---|---|---|---|---|---|---|---|',
    ...threads.map((each, at) =>
      row([
        `${name}, ${threadsText(each)}`,
        thousands(median(ofRuns(at, (run) => run.perCpuSecond))),
        spread(ofRuns(at, (run, round) => run.perCpuSecond / rawPerCpu(round))),
        median(ofRuns(at, (run) => 1e6 / run.perCpuSecond)).toFixed(1),
        thousands(median(ofRuns(at, (run) => run.perSecond))),
        thousands(median(ofRuns(at, (run) => run.records / unsent(run, 'seconds')))),
        thousands(median(ofRuns(at, (run) => run.records / unsent(run, 'cpuSeconds')))),
        megabytes(Math.max(...ofRuns(at, (run) => run.peakBytes))),
      ]),
    ),
    row([
      '(a) raw insert of the same rows',
      thousands(median(rounds.flatMap(({ raw }) => raw.map((each) => each.perCpuSecond)))),
      '',
      median(rounds.flatMap(({ raw }) => raw.map((each) => 1e6 / each.perCpuSecond))).toFixed(1),
      thousands(median(rounds.flatMap(({ raw }) => raw.map((each) => each.perSecond)))),
      '',
      '',
      '',
    ]),
    ...(packaged.length === 0 ? [] : besidePackage(some.records, packaged)),
    '',
    `| seconds (of CPU) | ${stages.join(' | ')} | disk after export, MB | after check | in the end |`,
    `|---|${'---|'.repeat(stages.length + 3)}`,
    ...threads.map((each, at) =>
      row([
        threadsText(each),
        ...stages.map(
          (stage) =>
            `${median(ofRuns(at, (run) => run.stages[stage].seconds)).toFixed(1)} (${median(ofRuns(at, (run) => run.stages[stage].cpuSeconds)).toFixed(1)})`,
        ),
        ...(['export', 'check', 'report'] as const).map((stage) =>
          String(Math.round(median(ofRuns(at, (run) => run.stages[stage].diskBytes)) / 1_048_576)),
        ),
      ]),
    ),
    ...speedUp(threads, (at) => ofRuns(at, (run) => unsent(run, 'seconds'))),
  ].join('\n');
}

function speedUp(threads: readonly number[], secondsOf: (at: number) => readonly number[]): string[] {
  const single = secondsOf(0);
  return threads.slice(1).map((each, index) => {
    const ratios = secondsOf(index + 1).map((seconds, round) => (single[round] ?? Number.NaN) / seconds);
    return `\nExport and check with ${threadsText(each)}: ${spread(ratios)} of the records/s with ${threadsText(threads[0] ?? 0)}.`;
  });
}

/** The package does what the first two stages do: reads, converts and checks without sending. */
function besidePackage(records: number, packaged: readonly (PackageRun & { readonly round: Round })[]): string[] {
  const perCpu = (each: PackageRun): number => records / each.cpuSeconds;
  const last = (round: Round): ImportFigures => {
    const run = round.runs.at(-1);
    if (run === undefined) throw new Error('expected a run');
    return run;
  };
  const unsentRatio = packaged.map((each) => records / unsent(last(each.round), 'cpuSeconds') / perCpu(each));
  const wholeRatio = packaged.map(
    (each) => (last(each.round).perCpuSecond * records) / last(each.round).events / perCpu(each),
  );
  const perSecond = thousands(median(packaged.map((each) => records / each.wallSeconds)));
  const records_ = thousands(median(packaged.map(perCpu)));
  const peak = megabytes(Math.max(...packaged.map(({ peakBytes }) => peakBytes)));
  return [
    row(['(b) mixpanel-import, nothing sent', '', '', '', '', perSecond, records_, peak]),
    '',
    `Records per CPU-second, of (b): export and check ${spread(unsentRatio)}, the whole run ${spread(wholeRatio)}.`,
  ];
}

function unsent(run: ImportFigures, figure: 'seconds' | 'cpuSeconds'): number {
  return run.stages.export[figure] + run.stages.check[figure];
}

function threadsText(threads: number): string {
  return threads === 1 ? '1 thread' : `${threads} threads`;
}

function spread(ratios: readonly number[]): string {
  return `**${median(ratios).toFixed(2)}** (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function* lines(plan: Plan, records: number): Generator<string> {
  let text = '';
  for (const record of plan.records(seed, records, recordsPerVisit)) {
    text += `${JSON.stringify(record)}\n`;
    if (text.length < 1_000_000) continue;
    yield text;
    text = '';
  }
  yield text;
}

function* events(slug: string, plan: Plan, records: number): Generator<RawEvent> {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected a format, got: ${slug}`);
  const read = format.createReader(plan.options, format.names);
  // Records are in the order of time, so duplicates are close.
  let seen = new Set<string>();
  let before = new Set<string>();
  for (const record of plan.records(seed, records, recordsPerVisit)) {
    const result = read(record);
    if (result.kind !== 'events') continue;
    for (const event of result.events) {
      const key = `${event.uuid}${event.event}${event.timestamp.slice(0, 10)}`;
      if (seen.has(key) || before.has(key)) continue;
      if (seen.size === 1_000_000) [before, seen] = [seen, new Set()];
      seen.add(key);
      yield { ...event, historical: true };
    }
  }
}

function* first<T>(count: number, all: Iterable<T>): Generator<T> {
  let left = count;
  for (const each of all) {
    if (left === 0) return;
    left -= 1;
    yield each;
  }
}

interface PackageRun {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

async function throughPackage(file: string): Promise<PackageRun | undefined> {
  const place = process.env['BENCH_MIXPANEL_IMPORT'];
  if (place === undefined) return undefined;
  const child = fork(new URL('./mixpanel-import.ts', import.meta.url), [place, file], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as PackageRun));
    child.once('exit', (code) => reject(new Error(`expected figures of mixpanel-import, it ended with ${code}`)));
  });
}
