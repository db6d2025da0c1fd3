import { join } from 'node:path';
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { accessibilityFaults, overflow } from '../../../test/support/console.ts';
import { cpuOf, whenDrawn, within } from './look-at-page.ts';
import type { PageLook } from './page-list.ts';

/** How a page is loaded and what is wrong with it, in one theme and at one width. */
export interface Judgement {
  /** From the navigation until the page has painted, shows its data, and its main thread has 50 ms to spare. */
  readonly interactiveMs: number;
  /** CPU time of the main thread until then. */
  readonly cpuMs: number;
  /** Bytes that crossed the network until then, as sent, without a cache. */
  readonly bytes: number;
  /** Of these, what is not an answer of the API. */
  readonly fileBytes: number;
  readonly axe: readonly string[];
  readonly csp: readonly string[];
  /** Errors in the console and exceptions. */
  readonly errors: readonly string[];
  readonly overflow: readonly string[];
}

export interface Screen {
  readonly colorScheme: 'light' | 'dark';
  readonly width: number;
}

export const screens: readonly Screen[] = [1440, 390].flatMap((width) => [
  { colorScheme: 'light', width },
  { colorScheme: 'dark', width },
]);

type Cookie = NonNullable<Exclude<BrowserContextOptions['storageState'], string>>['cookies'][number];

export interface JudgeOptions {
  readonly browser: Browser;
  /** The session; without one the page is seen by a visitor. */
  readonly cookie?: Pick<Cookie, 'name' | 'value'> & { readonly url: string };
  readonly url: string;
  readonly look: Pick<PageLook, 'path' | 'shown'>;
  readonly screen: Screen;
  /** Text without a page, of which only the time counts. */
  readonly isBaseline?: boolean;
  /** Path of a picture without its ending. */
  readonly picture?: string;
}

const settleMs = 700;

/** Loads the page in a browser that has not seen it before. */
export async function judgePage({
  browser,
  cookie,
  url,
  look,
  screen,
  isBaseline = false,
  picture,
}: JudgeOptions): Promise<Judgement> {
  const context = await browser.newContext({
    viewport: { width: screen.width, height: screen.width < 600 ? 844 : 900 },
    colorScheme: screen.colorScheme,
    reducedMotion: 'reduce',
  });
  try {
    if (cookie !== undefined) await context.addCookies([cookie]);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const transfer = await countTransfer(session);
    const errors = collectErrors(page);
    await page.addInitScript(watchScript(look.shown));
    await page.goto(url, { waitUntil: 'commit' });
    const interactiveMs = await within(page, 'window.interactive', `${look.path} to be interactive`);
    const loaded = { interactiveMs, cpuMs: await cpuOf(session), ...transfer() };
    await page.waitForTimeout(settleMs);
    if (picture !== undefined) await page.screenshot({ path: `${picture}.png` });
    const wide = await overflow(page);
    const axe = isBaseline ? [] : await accessibilityFaults(page);
    return { ...loaded, axe, csp: await page.evaluate<string[]>('window.refused'), errors, overflow: wide };
  } finally {
    await context.close();
  }
}

/** Path of the picture of a page. */
export function pictureOf(dir: string | undefined, path: string, { colorScheme, width }: Screen): string | undefined {
  const name = path.replaceAll(/[^a-z0-9-]+/gi, '_').slice(0, 40);
  return dir === undefined ? undefined : join(dir, `${name || 'root'}-${colorScheme}-${width}`);
}

/** Idle periods of the browser are at most 50 ms long and shorter when a frame or a timer is due. */
function watchScript(shown: string): string {
  return `
    window.refused = [];
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      window.refused.push(violatedDirective + ' ' + blockedURI));
    const painted = new Promise((resolve) => new PerformanceObserver((list) => {
      for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') resolve(startTime);
    }).observe({ type: 'paint', buffered: true }));
    const idle = () => new Promise((resolve) => {
      const look = (deadline) => deadline.timeRemaining() > 45 ? resolve(performance.now()) : requestIdleCallback(look);
      requestIdleCallback(look);
      setTimeout(() => resolve(performance.now()), 2_000);
    });
    window.interactive = Promise.all([painted, ${whenDrawn(shown)}])
      .then(async (times) => Math.max(...times, await idle()));`;
}

async function countTransfer(session: CDPSession): Promise<() => Pick<Judgement, 'bytes' | 'fileBytes'>> {
  const apiRequests = new Set<string>();
  let bytes = 0;
  let fileBytes = 0;
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (new URL(request.url).pathname.startsWith('/api/')) apiRequests.add(requestId);
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes += encodedDataLength;
    if (!apiRequests.has(requestId)) fileBytes += encodedDataLength;
  });
  await session.send('Network.enable');
  return () => ({ bytes, fileBytes });
}

function collectErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('crash', () => errors.push('the page crashed'));
  return errors;
}
