import { describe, expect, it, vi } from 'vitest';
import { ServerAwayError, StoreUnavailableError } from '../eventstore.ts';
import { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';

/** Servers that are there or not, and what was asked of them. */
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
  it('the first one works for all while it can, the next while it is away, and it again once it answers', async () => {
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

  it('what is wrong with the work is told at once, and nobody else is asked', async () => {
    const { replicas, take } = fakeServers(2);
    const refuse = (): Promise<never> => Promise.reject(new StoreUnavailableError('too many parts'));
    await expect(replicas.use(refuse)).rejects.toThrow('too many parts');
    expect(take()).toEqual([]);
  });

  it('ends with the last failure when nobody is there', async () => {
    const { replicas, work, away } = fakeServers(3);
    for (const at of [0, 1, 2]) away.add(at);
    await expect(replicas.use(work)).rejects.toBeInstanceOf(ServerAwayError);
  });
});
