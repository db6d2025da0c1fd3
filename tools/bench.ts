/**
 * `npm run bench`: each figure beside its baseline, measured in the same run. Method and results: docs/benchmarks.md.
 * `npm run bench -- capture end-to-end` runs only these parts; the parts are capture, end-to-end, api,
 * startup, sandbox, built-ins, imports, growth and singles. `quick` takes a short form of those that have one,
 * `keep` adds the ratios to the history on the page of results.
 *
 * `npm run bench -- imports [--records 1000000] [--format mixpanel,amplitude,segment,posthog,ga4,mapping] [--threads 1,2] [--rounds 1]
 * [--transformation] [--save]`; --save puts the figures on the page about large imports, with `npm run docs`. Of growth, --records are
 * events.
 */
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchApi } from './bench/api.ts';
import { benchBuiltIns } from './bench/built-ins.ts';
import { benchCapture, benchSingles } from './bench/capture.ts';
import { benchEndToEnd } from './bench/end-to-end.ts';
import { benchGrowth } from './bench/growth.ts';
import { keepHistory } from './bench/history.ts';
import { benchImports, type ImportBench } from './bench/imports.ts';
import { benchSandbox } from './bench/sandbox.ts';
import { benchStartup } from './bench/startup.ts';

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    records: { type: 'string' },
    format: { type: 'string', default: 'mixpanel' },
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '1' },
    transformation: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
  },
});
const imports: ImportBench = {
  formats: values.format.split(','),
  records: Number(values.records ?? 1_000_000),
  rounds: Number(values.rounds),
  threads: values.threads.split(',').map(Number),
  isTransformed: values.transformation,
  isSaved: values.save,
};

interface Part {
  readonly title: string;
  readonly run: () => Promise<string>;
  /** The same figures with fewer rounds. */
  readonly quick?: () => Promise<string>;
}

const parts: Readonly<Record<string, Part>> = {
  capture: { title: '(a) capture until durable', run: () => benchCapture(5), quick: () => benchCapture(1) },
  'end-to-end': { title: '(b) from request to queryable row', run: () => benchEndToEnd(1_000_000) },
  api: { title: '(c) reading configs', run: () => benchApi(5), quick: () => benchApi(2) },
  startup: { title: '(d) start and idle', run: () => benchStartup(5_000_000) },
  sandbox: { title: '(e) plugins in the sandbox', run: () => benchSandbox(5) },
  'built-ins': {
    title: '(f) ten built-in transformations in a chain',
    run: () => benchBuiltIns(50_000, 7),
    quick: () => benchBuiltIns(20_000, 3),
  },
  imports: { title: '(g) a whole import', run: () => benchImports(imports) },
  growth: { title: '(i) growth', run: () => benchGrowth(Number(values.records ?? 10_000_000)) },
  singles: {
    title: '(j) single events over 64 connections',
    run: () => benchSingles(5),
    quick: () => benchSingles(2),
  },
};

const modes = new Set(['quick', 'keep']);
const isQuick = words.includes('quick');
const asked = words.filter((each) => !modes.has(each));
const unknown = asked.filter((name) => parts[name] === undefined);
if (unknown.length > 0) {
  console.error(`expected quick, keep, ${Object.keys(parts).join(', ')}, got: ${unknown.join(', ')}`);
  process.exitCode = 2;
} else {
  const memory = Math.round(totalmem() / 1_073_741_824);
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${memory} GiB\n`);
  const results: { title: string; tables: string }[] = [];
  for (const [name, { title, run, quick }] of Object.entries(parts)) {
    const chosen = isQuick ? quick : run;
    if (chosen === undefined || (asked.length > 0 && !asked.includes(name))) continue;
    console.log(`## ${title}\n`);
    const tables = await chosen();
    console.log(`${tables}\n`);
    results.push({ title, tables });
  }
  if (words.includes('keep')) keepHistory(results);
}
