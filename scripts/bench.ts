/**
 * `npm run bench`: each figure beside its baseline, measured in the same run. Method and results: docs/benchmarks.md.
 * `npm run bench -- capture end-to-end` runs only these parts; the parts are capture, end-to-end, api,
 * startup, sandbox, built-ins, imports and growth.
 */
import { cpus, totalmem } from 'node:os';
import { benchApi } from './bench/api.ts';
import { benchBuiltIns } from './bench/built-ins.ts';
import { benchCapture } from './bench/capture.ts';
import { benchEndToEnd } from './bench/end-to-end.ts';
import { benchGrowth } from './bench/growth.ts';
import { benchImports } from './bench/imports.ts';
import { benchSandbox } from './bench/sandbox.ts';
import { benchStartup } from './bench/startup.ts';

/** `npm run bench -- imports 10000000`: so many records; of `growth`, events. */
const size = process.argv.find((each) => /^\d+$/.test(each));

const parts: Readonly<Record<string, { title: string; run: () => Promise<string> }>> = {
  capture: { title: '(a) capture until durable', run: () => benchCapture(5) },
  'end-to-end': { title: '(b) from request to queryable row', run: () => benchEndToEnd(1_000_000) },
  api: { title: '(c) reading configs', run: () => benchApi(5) },
  startup: { title: '(d) start and idle', run: () => benchStartup(5_000_000) },
  sandbox: { title: '(e) plugins in the sandbox', run: () => benchSandbox(5) },
  'built-ins': { title: '(f) ten built-in transformations in a chain', run: () => benchBuiltIns(50_000, 7) },
  imports: { title: '(g) a whole import', run: () => benchImports(Number(size ?? 1_000_000)) },
  growth: { title: '(i) growth', run: () => benchGrowth(Number(size ?? 10_000_000)) },
};

const asked = process.argv.slice(2).filter((each) => !/^\d+$/.test(each));
const unknown = asked.filter((name) => parts[name] === undefined);
if (unknown.length > 0) {
  console.error(`expected ${Object.keys(parts).join(', ')}, got: ${unknown.join(', ')}`);
  process.exitCode = 2;
} else {
  const memory = Math.round(totalmem() / 1_073_741_824);
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${memory} GiB\n`);
  for (const [name, part] of Object.entries(parts)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.log(`## ${part.title}\n`);
    console.log(`${await part.run()}\n`);
  }
}
