import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, CDPSession } from 'playwright-core';
import type { Service } from '../../compat/service.ts';
import { sendBatch } from './fill-service.ts';
import { answerTo, cpuOf } from './look-at-page.ts';
import { framesDuring, type Frames } from './scroll-page.ts';

/** The tab at a moment, after its garbage was collected. */
export interface TabSample {
  readonly second: number;
  readonly heapMb: number;
  readonly nodes: number;
  /** All that the tab's process has of the machine's memory. */
  readonly residentMb: number;
}

export interface LiveWatch {
  readonly sent: number;
  readonly seconds: number;
  readonly samples: readonly TabSample[];
  /** MB a minute, by least squares, without the first minute. */
  readonly heapSlope: number;
  readonly residentSlope: number;
  /** Rows that the page says it shows. */
  readonly shown: number;
  /** Events that the page says it does not show. */
  readonly notShown: number;
  /** Times that the stream's connection broke. */
  readonly breaks: number;
  /** Share of one processor that the tab's main thread took. */
  readonly cpuShare: number;
  /** Five seconds before the first event: what the machine does to any page. */
  readonly idle: Frames;
  /** Ten seconds while events come. */
  readonly frames: Frames;
  /** From a click on the button that pauses until it was drawn, under load. */
  readonly pauseMs: number;
}

interface WatchOptions {
  readonly service: Service;
  readonly apiKey: string;
  readonly minutes: number;
  readonly perSecond: number;
  readonly say: (text: string) => void;
}

const sampleMs = 15_000;
const batchesPerSecond = 10;
const settleMs = 15_000;
const waitingMax = 8;
/** The button that pauses, and how it looks once it does. */
const pause = { click: '#main button[aria-keyshortcuts=p]', answer: '#main button[aria-keyshortcuts=p] .lucide-play' };

/** Watches the live page while events keep coming. */
export async function watchLive(context: BrowserContext, base: string, options: WatchOptions): Promise<LiveWatch> {
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.goto(`${base}live`);
    await page.getByText('watching', { exact: true }).waitFor({ timeout: 30_000 });
    const pid = await rendererOf(context);
    const idle = await page.evaluate<Frames>(framesDuring(5_000, ''));
    const flood = startFlood(options);
    const began = performance.now();
    const cpuBefore = await cpuOf(session);
    const samples: TabSample[] = [];
    while (performance.now() - began < options.minutes * 60_000) {
      await delay(Math.min(sampleMs, options.minutes * 60_000));
      const sample = { second: (performance.now() - began) / 1000, ...(await measureTab(session, pid)) };
      samples.push(sample);
      options.say(
        `heap ${sample.heapMb.toFixed(1)} MB, ${sample.nodes} nodes, resident ${sample.residentMb.toFixed(0)} MB`,
      );
    }
    const cpuShare = ((await cpuOf(session)) - cpuBefore) / (performance.now() - began);
    const frames = await page.evaluate<Frames>(framesDuring(10_000, ''));
    const pauseMs = await answerTo(page, { path: 'live', ...pause });
    await page.locator(pause.click).click();
    const seconds = (performance.now() - began) / 1000;
    const sent = await flood.stop();
    await page.waitForTimeout(settleMs);
    const note = await page.getByText(/rows shown/).innerText();
    const [broke, times] = /broke (?:once|(\d+) times)/.exec(await page.locator('#main').innerText()) ?? [];
    return {
      sent,
      seconds,
      samples,
      heapSlope: slopeOf(samples, ({ heapMb }) => heapMb),
      residentSlope: slopeOf(samples, ({ residentMb }) => residentMb),
      shown: numberBefore(note, ' rows shown'),
      notShown: numberBefore(note, ' came by'),
      breaks: broke === undefined ? 0 : Number(times ?? 1),
      cpuShare,
      idle,
      frames,
      pauseMs,
    };
  } finally {
    await page.close();
  }
}

/** Sends a number of events per second, in even batches, until stopped; returns how many were accepted. */
function startFlood({ service, apiKey, perSecond }: WatchOptions): { stop(): Promise<number> } {
  const perBatch = Math.round(perSecond / batchesPerSecond);
  const over = new AbortController();
  const waiting = new Set<Promise<void>>();
  let sent = 0;
  const run = async (): Promise<void> => {
    const began = performance.now();
    for (let batch = 0; !over.signal.aborted; batch += 1) {
      await delay(Math.max(0, began + (batch * 1000) / batchesPerSecond - performance.now()));
      const events = Array.from({ length: perBatch }, () => liveEvent(sent++));
      const taken = sendBatch(service, { api_key: apiKey, batch: events }).finally(() => waiting.delete(taken));
      waiting.add(taken);
      if (waiting.size >= waitingMax) await Promise.race(waiting);
    }
    await Promise.all(waiting);
  };
  const ended = run();
  return {
    stop: async () => {
      over.abort();
      await ended;
      return sent;
    },
  };
}

function liveEvent(index: number): object {
  return {
    event: ['$pageview', 'order placed', 'cart opened'][index % 3],
    distinct_id: `person-${index % 500}`,
    properties: {
      $current_url: `https://shop.example/page/${index % 97}?utm_source=newsletter`,
      $referrer: 'https://www.google.com/',
      $browser: 'Firefox',
      index,
    },
  };
}

/** Process of the newest tab. */
async function rendererOf(context: BrowserContext): Promise<number> {
  const browser = context.browser();
  if (browser === null) throw new Error('expected a browser');
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const busiest = processInfo.filter(({ type }) => type === 'renderer').toSorted((a, b) => b.cpuTime - a.cpuTime)[0];
  if (busiest === undefined) throw new Error('expected the browser to have a tab');
  return busiest.id;
}

async function measureTab(session: CDPSession, pid: number): Promise<Omit<TabSample, 'second'>> {
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (wanted: string): number => metrics.find(({ name }) => name === wanted)?.value ?? 0;
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { heapMb: of('JSHeapUsedSize') / 2 ** 20, nodes: of('Nodes'), residentMb: Number(resident) / 1024 };
}

function slopeOf(samples: readonly TabSample[], of: (sample: TabSample) => number): number {
  const points = samples.filter(({ second }) => second > 60).map((each) => [each.second / 60, of(each)] as const);
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return above / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

function numberBefore(text: string, what: string): number {
  const found = new RegExp(`([\\d,]+)${what}`).exec(text)?.[1] ?? '0';
  return Number(found.replaceAll(',', ''));
}
