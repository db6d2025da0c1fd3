import type { Browser, Page } from 'playwright-core';

/** Tasks of the main thread of a tab, by the processor's clock: what other programs did meanwhile does not count. */
export interface TaskTimes {
  /** Tasks that took more than a frame at 60 a second. */
  readonly overFrame: number;
  /** Tasks of more than 50 ms, which a person may notice. */
  readonly overNotice: number;
  readonly longestMs: number;
}

const frameMs = 1000 / 60;
const noticeMs = 50;

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly pid: number;
  /** Processor time in µs. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Records the tasks of the page's main thread during `run`. */
export async function tasksDuring<Result>(
  browser: Browser,
  page: Page,
  run: () => Promise<Result>,
): Promise<{ readonly tasks: TaskTimes; readonly result: Result }> {
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] });
  const result = await run();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: readonly TraceEvent[];
  };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const times = traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && threads.has(`${pid}/${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000);
  return {
    tasks: {
      overFrame: times.filter((each) => each > frameMs).length,
      overNotice: times.filter((each) => each > noticeMs).length,
      longestMs: times.reduce((longest, each) => Math.max(longest, each), 0),
    },
    result,
  };
}
