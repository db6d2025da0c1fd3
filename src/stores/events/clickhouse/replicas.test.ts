import { describe, expect, it, vi } from 'vitest';
import { insertError, queryError } from '../engine-errors.ts';
import { ServerAwayError, StoreUnavailableError } from '../eventstore.ts';
import { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';

/** Creates servers that can be unavailable and record their calls. */
function fakeServers(count: number) {
  const asked: string[] = [];
  const away = new Set<number>();
  const servers = Array.from({ length: count }, (_, at) => ({
    at,
    answers: async () => {
      asked.push(`ping ${at}`);
      return !away.has(at);
    },
  }));
  const replicas = new Replicas(servers as unknown as readonly ClickhouseServer[]);
  const work = (server: ClickhouseServer): Promise<number> => {
    const { at } = server as unknown as { at: number };
    asked.push(`work ${at}`);
    return away.has(at) ? Promise.reject(new ServerAwayError('away')) : Promise.resolve(at);
  };
  const take = (): string[] => asked.splice(0);
  return { replicas, work, away, take };
}

describe('replicas', () => {
  it('the first server is used while it works, the next while it is unavailable, and the first again once it answers', async () => {
    vi.useFakeTimers();
    try {
      const { replicas, work, away, take } = fakeServers(2);
      expect([await replicas.use(work), await replicas.use(work)]).toEqual([0, 0]);
      take();
      away.add(0);
      expect(await replicas.use(work)).toBe(1);
      expect(take()).toEqual(['work 0', 'work 1']);
      expect(await replicas.use(work)).toBe(1);
      expect(take()).toEqual(['work 1']);
      vi.advanceTimersByTime(11_000);
      expect(await replicas.use(work)).toBe(1);
      expect(take()).toEqual(['ping 0', 'work 1']);
      away.clear();
      vi.advanceTimersByTime(11_000);
      expect(await replicas.use(work)).toBe(0);
      expect(take()).toEqual(['ping 0', 'work 0']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('an error of the work itself is thrown immediately, without trying another server', async () => {
    const { replicas, take } = fakeServers(2);
    const refuse = (): Promise<never> => Promise.reject(new StoreUnavailableError('too many parts'));
    await expect(replicas.use(refuse)).rejects.toThrow('too many parts');
    expect(take()).toEqual([]);
  });

  it.each([
    ['lost its disk', insertError('Code: 60. DB::Exception: Table millrace.events_local does not exist.')],
    ['has a full disk', insertError('Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space.')],
    ['lost its disk and is read', queryError('Code: 81. DB::Exception: Database millrace does not exist.')],
  ])('work continues at the next server if one %s', async (_, error) => {
    const { replicas, work, take } = fakeServers(2);
    const faulty = (server: ClickhouseServer): Promise<number> =>
      (server as unknown as { at: number }).at === 0 ? Promise.reject(error) : work(server);
    expect([await replicas.use(faulty), await replicas.use(work)]).toEqual([1, 1]);
    expect(take()).toEqual(['work 1', 'work 1']);
    await expect(replicas.use(() => Promise.reject(error))).rejects.toBe(error);
  });

  it('fails with the last error if no server is available', async () => {
    const { replicas, work, away } = fakeServers(3);
    for (const at of [0, 1, 2]) away.add(at);
    await expect(replicas.use(work)).rejects.toBeInstanceOf(ServerAwayError);
  });
});
