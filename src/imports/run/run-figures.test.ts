import { expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { createRunWriter } from './run-writer.ts';
import { runFigures } from './run-figures.ts';
import { createRun } from './run-store.ts';
import { pauseRun } from './run-transitions.ts';
import { claimRun } from './claim-run.ts';
import { newRun, start } from '../../../test/support/runs.ts';

it('counts runs by state and those that wait, and measures the longest stall', async () => {
  await using store = await tempMetadata();
  const { db } = store;
  expect(await runFigures(db, start)).toEqual({ byState: {}, waiting: 0, stalledMs: 0 });
  for (const id of ['a', 'b', 'c', 'd']) await createRun(db, newRun({ id }));
  await pauseRun(db, 'd');
  const hold = async (onlyRun: string, now: number) => {
    const claim = await claimRun(db, start, 60_000, { onlyRun });
    if (claim === undefined) throw new Error('expected the run to be due');
    return createRunWriter({ db, clock: { now: () => now }, signal: new AbortController().signal }, claim);
  };
  const [quick, slow] = [await hold('a', start + 50_000), await hold('b', start + 20_000)];
  const progress = { stage: 'export', partsDone: 0, done: 5, bytes: 5, rate: 1 } as const;
  for (const leased of [quick, slow]) leased.progress(progress);
  slow.waiting({ reason: 'the source answers 429' });
  await Promise.all([quick.flush(), slow.flush()]);
  expect(await runFigures(db, start + 60_000)).toEqual({
    byState: { running: 2, queued: 1, paused: 1 },
    waiting: 1,
    stalledMs: 40_000,
  });
});
