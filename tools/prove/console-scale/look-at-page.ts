import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { PageLook } from './page-list.ts';

/** How long a page took; all in ms. */
export interface PageTimes {
  /** From the start of the navigation until what the page is about was drawn. */
  readonly shownMs: number;
  /** From a click until its answer was drawn. */
  readonly clickMs: number;
  /** Until the last answer of the API that the page asked for at first. */
  readonly loadedMs: number;
  /** Processor time of the tab's main thread until then. */
  readonly cpuMs: number;
  readonly requests: number;
  /** The slowest request, by the browser's clock. */
  readonly slowest: { readonly path: string; readonly ms: number };
}

const settleMs = 700;
const withinMs = 30_000;

/** Opens the page in a separate tab, which is closed afterwards. */
export async function lookAtPage(context: BrowserContext, base: string, look: PageLook): Promise<PageTimes> {
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    // By the processor's clock: what other programs do meanwhile does not count.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.addInitScript(`window.shown = ${whenDrawn(look.shown)}`);
    await page.goto(`${base}${look.path}`, { waitUntil: 'commit' });
    const shownMs = await within(page, 'window.shown', `${look.path} to show what it is about`);
    const cpuMs = await cpuOf(session);
    await page.waitForTimeout(settleMs);
    const { loadedMs, requests, slowest } = await requestsOf(page);
    const clickMs = await answerTo(page, look);
    return { shownMs, clickMs, loadedMs, cpuMs, requests, slowest };
  } finally {
    await page.close();
  }
}

/** Milliseconds of the tab's main thread since it was made. */
export async function cpuOf(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
}

/** A promise of the page: the moment, by its clock, at which an element that has a size was drawn. */
export function whenDrawn(selector: string): string {
  return `new Promise((resolve) => {
    const look = () => {
      const found = document.querySelector(${JSON.stringify(selector)});
      if (found !== null && found.getClientRects().length > 0) requestAnimationFrame(resolve);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  })`;
}

/** Evaluates a promise of the page, within half a minute; the error says what the page shows instead. */
export async function within(page: Page, promise: string, what: string): Promise<number> {
  const late = delay(withinMs, undefined, { ref: false });
  const at = await Promise.race([page.evaluate<number>(promise), late]);
  if (at !== undefined) return at;
  const text = (await page.locator('body').innerText()).replaceAll(/\s+/g, ' ').slice(0, 500);
  throw new Error(`expected ${what} within ${withinMs / 1000} s, it shows: ${text}`);
}

async function requestsOf(page: Page): Promise<Pick<PageTimes, 'loadedMs' | 'requests' | 'slowest'>> {
  const entries = await page.evaluate<{ name: string; end: number; ms: number }[]>(
    `performance.getEntriesByType('resource')
      .filter(({ name, responseEnd }) => name.includes('/api/') && responseEnd > 0)
      .map(({ name, responseEnd, duration }) => ({ name, end: responseEnd, ms: duration }))`,
  );
  const [slowest] = entries.toSorted((left, right) => right.ms - left.ms);
  return {
    loadedMs: Math.max(0, ...entries.map(({ end }) => end)),
    requests: entries.length,
    slowest: { path: slowest === undefined ? '' : new URL(slowest.name).pathname, ms: slowest?.ms ?? 0 },
  };
}

/** From the moment at which the browser had the click. */
export async function answerTo(
  page: Page,
  { path, click, answer }: Pick<PageLook, 'path' | 'click' | 'answer'>,
): Promise<number> {
  await page.evaluate(`addEventListener('pointerdown', ({ timeStamp }) => {
    window.answered = ${whenDrawn(answer)}.then((now) => now - timeStamp);
  }, { capture: true, once: true })`);
  await page.locator(click).first().click({ timeout: 10_000 });
  return within(page, 'window.answered', `${path} to answer a click`);
}
