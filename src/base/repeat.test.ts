import { expect, it } from 'vitest';
import { repeat } from './repeat.ts';

it('continues after a failure, reports the first of a row, and ends on abort', async () => {
  const stop = new AbortController();
  const troubles: unknown[] = [];
  let times = 0;
  const work = async (): Promise<void> => {
    times += 1;
    if (times === 7) stop.abort();
    if (times === 2 || times === 3 || times === 5) throw new Error(`time ${times}`);
  };
  await repeat(1, work, { signal: stop.signal, onTrouble: (error) => troubles.push((error as Error).message) });
  expect([times, troubles]).toEqual([7, ['time 2', 'time 5']]);
});
