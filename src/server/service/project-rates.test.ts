import { expect, it } from 'vitest';
import { createCountedIngest } from './project-rates.ts';

it('events count for a minute, by project and lane, if they were accepted', async () => {
  let now = 0;
  let isOpen = true;
  const accept = async (): Promise<void> => {
    if (!isOpen) throw new Error('full');
  };
  const { ingest, rates } = createCountedIngest({ accept }, () => now);
  const batch = { body: new Uint8Array(), encoding: 'identity', receivedAt: 0, requestId: 'r' } as const;
  await ingest.accept({ ...batch, lane: 'live', projectId: 1, events: 60 });
  now = 30_000;
  await ingest.accept({ ...batch, lane: 'live', projectId: 1, events: 60 });
  await ingest.accept({ ...batch, lane: 'historical', projectId: 2, events: 600 });
  isOpen = false;
  await expect(ingest.accept({ ...batch, lane: 'live', projectId: 1, events: 60 })).rejects.toThrow('full');
  expect([rates.of(1), rates.of(2), rates.of(3)]).toEqual([
    { live: 2, historical: 0 },
    { live: 0, historical: 10 },
    { live: 0, historical: 0 },
  ]);
  now = 61_000;
  expect(rates.of(1).live).toBe(1);
  now = 500_000;
  expect(rates.of(1).live).toBe(0);
});
