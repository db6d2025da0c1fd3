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
])('a full disk under %s is named', async (_what, free, named) => {
  expect(await diskHealth('/data', disks(free))).toEqual({
    ok: false,
    detail: expect.stringContaining(named) as unknown,
  });
});

it('a disk with room for the next writes is no trouble, nor is a store that lies elsewhere', async () => {
  expect(await diskHealth('/data', disks({ '/data': diskFreeBytesMin }))).toEqual({ ok: true });
});
