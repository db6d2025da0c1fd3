import type { Page } from 'playwright-core';

/** Processor time of a tab's main thread, in ms since it opened its address. What else the machine does is not in it. */
export async function watchCpu(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value;
    if (seconds === undefined) throw new Error('expected the browser to tell the processor time of a tab');
    return 1000 * seconds;
  };
}
