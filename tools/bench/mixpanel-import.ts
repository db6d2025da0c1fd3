/** Baseline (b) of imports.ts: the npm package mixpanel-import reads and transforms a file of records and sends nothing. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

type MixpanelImport = (
  credentials: object,
  file: string,
  options: object,
) => Promise<{ readonly total?: number } | undefined>;

const [place = '', file = ''] = process.argv.slice(2);
const module = (await import(pathToFileURL(join(place, 'index.js')).href)) as { default: MixpanelImport };
const cpu = process.cpuUsage();
const started = performance.now();
let peakBytes = 0;
const watch = setInterval(() => (peakBytes = Math.max(peakBytes, process.memoryUsage().rss)), 200);
await module.default({ token: 'bench' }, file, {
  recordType: 'event',
  streamFormat: 'jsonl',
  fixData: true,
  dryRun: true,
  verbose: false,
  showProgress: false,
});
clearInterval(watch);
const used = process.cpuUsage(cpu);
process.send?.({
  wallSeconds: (performance.now() - started) / 1000,
  cpuSeconds: (used.user + used.system) / 1e6,
  peakBytes: Math.max(peakBytes, process.memoryUsage().rss),
});
process.disconnect();
