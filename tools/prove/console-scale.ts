/**
 * Proves that the console stays quick with much in it: `npm run prove -- console-scale [options]`.
 *
 * A separate service is filled with a year of events, configs, runs and warnings. Then every page is opened in Chromium:
 *
 * - `looks`: in both themes, wide and on a phone, without a cache: bytes of the first load, time until interactive, faults that axe
 *   finds, refusals of the content security policy, errors in the console and what is wider than the screen. Any of them, more than
 *   250 kB or more than 1 s fail the proof. With `--pictures <dir>` a picture of each goes there.
 * - `pages`: how long until the first row is there and a click is answered;
 * - `scroll`: what scrolling costs;
 * - `live`: how much memory the live page takes while events keep coming.
 *
 * `--parts looks,pages` chooses, `--page home` opens one page. Needs Chromium and Linux. With `--dir` the filled directory stays there
 * and is used again.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, BrowserContext } from 'playwright-core';
import { launchBrowser } from '../../test/support/browser.ts';
import { sessionCookie } from '../../test/support/session-cookie.ts';
import { startService, type Service } from '../compat/service.ts';
import { fillService, projectKeyOf, type FillSizes } from './console-scale/fill-service.ts';
import { lookAtPage, type PageTimes } from './console-scale/look-at-page.ts';
import { interactiveMsMax, measureLooks } from './console-scale/measure-looks.ts';
import { pageList, type PageIds, type PageLook } from './console-scale/page-list.ts';
import { scrollPage, type Frames } from './console-scale/scroll-page.ts';
import { median, ms, tableHead, tableRow } from './console-scale/tables.ts';
import { watchLive, type TabSample } from './console-scale/watch-live.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    people: { type: 'string', default: '20000' },
    configs: { type: 'string', default: '250' },
    runs: { type: 'string', default: '50' },
    warnings: { type: 'string', default: '10000' },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '1000' },
    repeats: { type: 'string', default: '3' },
    parts: { type: 'string', default: 'looks,pages,scroll,live' },
    page: { type: 'string' },
    pictures: { type: 'string' },
    dir: { type: 'string' },
  },
});
const sizes: FillSizes = {
  events: Number(values.events),
  people: Number(values.people),
  configs: Number(values.configs),
  runs: Number(values.runs),
  warnings: Number(values.warnings),
};
const started = performance.now();
const say = (text: string): void =>
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);

const dir = values.dir ?? (await mkdtemp(join(tmpdir(), 'millrace-console-scale-')));
await mkdir(dir, { recursive: true });
const done = join(dir, 'filled.json');
try {
  await using service = await startService(dir, {});
  if (!existsSync(done)) {
    await fillService({ service, dataDir: join(dir, 'data'), say }, sizes);
    await writeFile(done, JSON.stringify(sizes));
  }
  await measure(service);
} finally {
  if (values.dir === undefined) await rm(dir, { recursive: true, force: true });
}

async function measure(service: Service): Promise<void> {
  const parts = values.parts.split(',');
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    await context.addCookies([await sessionCookie(service, service.key)]);
    const base = `${service.url}/console/projects/1/`;
    const pages = pageList(await idsOf(service)).filter(
      ({ path }) => values.page === undefined || path === values.page,
    );
    if (parts.includes('looks')) {
      const isFaultless = await measureLooks({ browser, service, pages, pictures: values.pictures });
      if (!isFaultless) process.exitCode = 1;
    }
    if (parts.includes('pages')) await measurePages(context, base, pages);
    if (parts.includes('scroll')) await measureScrolling(browser, base, pages);
    if (parts.includes('live')) await measureLive(context, base, service);
  } finally {
    await browser.close();
  }
}

async function idsOf(service: Service): Promise<PageIds> {
  const first = async <Row>(path: string): Promise<Row> => {
    const { body } = await service.api<{ results: readonly Row[] }>('GET', `/api/projects/@current/${path}`);
    const [row] = body.results;
    if (row === undefined) throw new Error(`expected ${path} to list something`);
    return row;
  };
  const transformation = await first<{ id: number }>('pipeline_transformation_configs/?limit=1');
  const run = await first<{ id: string; plugin_config: number }>('import_runs/?limit=1');
  const person = await first<{ distinct_ids: readonly string[] }>('persons/?limit=1&search=person-1');
  return {
    transformation: transformation.id,
    importApp: run.plugin_config,
    run: run.id,
    person: person.distinct_ids[0] ?? '',
  };
}

/** Each page several times: the median, and the best, which other work on the machine has spoiled least. */
async function measurePages(context: BrowserContext, base: string, pages: readonly PageLook[]): Promise<void> {
  const heads = ['page', 'shown, ms', 'click answered', 'together', 'best', 'all answers', 'processor', 'requests'];
  tableHead(...heads, 'slowest request');
  let slow = 0;
  for (const look of pages) {
    // The first look of all is the one that fills the browser's cache.
    const times: PageTimes[] = [];
    for (let turn = 0; turn <= Number(values.repeats); turn += 1) times.push(await lookAtPage(context, base, look));
    const seen = times.slice(1);
    const of = (value: (each: PageTimes) => number): string => ms(median(seen.map(value)));
    const best = Math.min(...seen.map(togetherOf));
    if (best > interactiveMsMax) slow += 1;
    const { requests, slowest } = seen.reduce((left, right) => (left.slowest.ms < right.slowest.ms ? left : right));
    const name = look.path.replace(/runs\/.*/, 'runs/…');
    const together = [of(({ shownMs }) => shownMs), of(({ clickMs }) => clickMs), of(togetherOf), ms(best)];
    const asked = `${slowest.path.replace('/api/projects/1', '').replace(/runs\/.*/, 'runs/…')} ${ms(slowest.ms)}`;
    tableRow(
      name,
      ...together,
      of(({ loadedMs }) => loadedMs),
      of(({ cpuMs }) => cpuMs),
      requests,
      asked,
    );
  }
  console.log(`\n${pages.length - slow} of ${pages.length} pages interactive within ${interactiveMsMax} ms\n`);
}

function togetherOf({ shownMs, clickMs }: PageTimes): number {
  return shownMs + clickMs;
}

async function measureScrolling(browser: Browser, base: string, pages: readonly PageLook[]): Promise<void> {
  const heads = ['scrolled, 5 s', 'tasks > 50 ms, processor', 'tasks > 16.7 ms', 'longest, ms', 'per frame, ms'];
  tableHead(...heads, 'frames', 'late (> 50 ms), longest', 'at rest', 'rows drawn', 'pixels');
  for (const look of pages.filter(({ scroll }) => scroll !== undefined)) {
    const { scrolled, tasks, idle, cpuPerFrameMs, rowsDrawn, pixels } = await scrollPage(browser, base, look, 5);
    const processor = [tasks.overNotice, tasks.overFrame, ms(tasks.longestMs), cpuPerFrameMs.toFixed(1)];
    tableRow(look.path, ...processor, scrolled.frames, lateOf(scrolled), lateOf(idle), rowsDrawn, pixels);
  }
}

function lateOf({ late, longestMs }: Frames): string {
  return `${late}, ${ms(longestMs)} ms`;
}

async function measureLive(context: BrowserContext, base: string, service: Service): Promise<void> {
  const apiKey = await projectKeyOf(service);
  const options = { service, apiKey, minutes: Number(values.minutes), perSecond: Number(values.rate), say };
  const { samples, idle, frames, ...seen } = await watchLive(context, base, options);
  const counted = seen.shown + seen.notShown;
  const change = (of: (sample: TabSample) => number, digits: number): string =>
    [samples.at(0), samples.at(-1)].map((each) => each && of(each).toFixed(digits)).join(' → ');
  tableHead('live page', '');
  tableRow('events sent', `${seen.sent} in ${ms(seen.seconds)} s, ${ms(seen.sent / seen.seconds)} a second`);
  tableRow('rows shown + not shown', `${seen.shown} + ${seen.notShown} = ${counted}, ${counted / seen.sent} an event`);
  tableRow('connection broke', seen.breaks);
  tableRow('heap, MB', `${change(({ heapMb }) => heapMb, 1)}, ${seen.heapSlope.toFixed(3)} a minute`);
  tableRow('resident, MB', `${change(({ residentMb }) => residentMb, 0)}, ${seen.residentSlope.toFixed(2)} a minute`);
  tableRow(
    'nodes',
    change(({ nodes }) => nodes, 0),
  );
  tableRow('main thread', `${(100 * seen.cpuShare).toFixed(1)} % of a processor`);
  tableRow('frames in 10 s under load', `${frames.frames}, late and longest ${lateOf(frames)}`);
  tableRow('frames in 5 s before', `${idle.frames}, late and longest ${lateOf(idle)}`);
  tableRow('pause answered', `${ms(seen.pauseMs)} ms`);
}
