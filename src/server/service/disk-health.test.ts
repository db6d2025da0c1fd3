import { expect, it } from 'vitest';
import { diskFreeBytesMin, diskHealth } from './start-stores.ts';

const disks = (free: Readonly<Record<string, number>>) => async (path: string) => {
  const bavail = free[path];
  if (bavail === undefined) throw Object.assign(new Error('not there'), { code: 'ENOENT' });
  return { bavail, bsize: 1 };
};

it.each([
  ['the data directory', { '/data': diskFreeBytesMin - 1 }, '/data ('],
  ['the log', { '/data': 1e12, '/data/log': 0 }, '/data/log (0 KiB free)'],
  ['the event store', { '/data': 1e12, '/data/log': 1e12, '/data/events': 5000 }, '/data/events (4 KiB free)'],
])('reports a full disk under %s', async (_what, free, named) => {
  expect(await diskHealth('/data', disks(free))).toEqual({
    ok: false,
    detail: expect.stringContaining(named) as unknown,
  });
});

it('a disk with enough space is healthy, and so is a missing directory of a store', async () => {
  expect(await diskHealth('/data', disks({ '/data': diskFreeBytesMin }))).toEqual({ ok: true });
});
