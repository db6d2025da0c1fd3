import type { Browser } from 'playwright-core';
import { cpuOf } from './look-at-page.ts';
import { tasksDuring, type TaskTimes } from './main-thread-tasks.ts';
import type { PageLook } from './page-list.ts';

export interface Frames {
  readonly frames: number;
  /** Frames that came more than 50 ms after the one before. */
  readonly late: number;
  readonly longestMs: number;
}

export interface ScrollTimes {
  readonly scrolled: Frames;
  readonly tasks: TaskTimes;
  /** The same page at rest: what the machine does to any page. */
  readonly idle: Frames;
  /** Processor time of the tab's main thread per frame, in ms. */
  readonly cpuPerFrameMs: number;
  /** Rows in the document at the end. */
  readonly rowsDrawn: number;
  /** How far it got. */
  readonly pixels: number;
}

const pixelsPerFrame = 120;

/** Scrolls for so long, a hand's speed, as far as rows come; at the end of the list it goes back up. */
export async function scrollPage(
  browser: Browser,
  base: string,
  { path, shown, scroll }: PageLook,
  seconds: number,
): Promise<ScrollTimes> {
  const [context] = browser.contexts();
  if (context === undefined) throw new Error('expected the browser to be signed in');
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.goto(base + path);
    await page.locator(shown).first().waitFor({ timeout: 30_000 });
    await page.waitForTimeout(1_500);
    const idle = await page.evaluate<Frames>(framesDuring(seconds * 1_000, ''));
    const before = await cpuOf(session);
    const scrolling = `const box = [...document.querySelectorAll(${JSON.stringify(scroll)})].at(-1);
      const top = box.scrollTop;
      box.scrollTop = top + ${pixelsPerFrame} * direction;
      if (box.scrollTop === top) direction = -direction;
      pixels = Math.max(pixels, box.scrollTop);`;
    const { tasks, result: scrolled } = await tasksDuring(browser, page, () =>
      page.evaluate<Frames & { pixels: number }>(framesDuring(seconds * 1_000, scrolling)),
    );
    const cpuPerFrameMs = ((await cpuOf(session)) - before) / scrolled.frames;
    const rowsDrawn = await page.locator('#main tr[data-index], #main ol > li').count();
    return { scrolled, tasks, idle, cpuPerFrameMs, rowsDrawn, pixels: scrolled.pixels };
  } finally {
    await page.close();
  }
}

/** Counts frames; `each` runs in every one. */
export function framesDuring(ms: number, each: string): string {
  return `new Promise((resolve) => {
    let [frames, late, longestMs, direction, pixels] = [0, 0, 0, 1, 0];
    let last = performance.now();
    const end = last + ${ms};
    const frame = () => {
      const now = performance.now();
      frames += 1;
      if (now - last > 50) late += 1;
      longestMs = Math.max(longestMs, now - last);
      last = now;
      ${each}
      if (now > end) resolve({ frames, late, longestMs, pixels });
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  })`;
}
