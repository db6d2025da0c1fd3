import { describe, expect, it } from 'vitest';
import { ServerAwayError } from '../eventstore.ts';
import { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';
import { waitForReplicas } from './wait-for-replicas.ts';

function shardOf(...syncs: ((sql: string) => Promise<void>)[]): Replicas {
  return new Replicas(syncs.map((command) => ({ command })) as unknown as readonly ClickhouseServer[]);
}

const inSync = async (): Promise<void> => undefined;
const skippedAfterMs = 300;

describe('reads after replicas were waited for', () => {
  it('begin as soon as each replica of each shard has all rows of the tables', async () => {
    const asked: string[] = [];
    const note = async (sql: string): Promise<void> => void asked.push(sql);
    const since = performance.now();
    await waitForReplicas([shardOf(note, note), shardOf(note)], ['t', 'u']);
    expect(performance.now() - since).toBeLessThan(10_000);
    expect(asked.toSorted()).toEqual(
      ['t', 't', 't', 'u', 'u', 'u'].map((table) => `SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`),
    );
  });

  it('begin when one that lacks rows, or does not answer, is so far behind that reads skip it', async () => {
    const away = async (): Promise<void> => {
      throw new ServerAwayError('away');
    };
    const since = performance.now();
    await waitForReplicas([shardOf(inSync, away)], ['t'], skippedAfterMs);
    // Timers count whole milliseconds and may fire early by about as much.
    expect(performance.now() - since).toBeGreaterThan(skippedAfterMs - 10);
  });

  it('do not wait for a server that has no such table, which no read uses', async () => {
    const lost = async (): Promise<void> => {
      throw new Error('The event store refused a query: Code: 60. Unknown table');
    };
    const since = performance.now();
    await waitForReplicas([shardOf(inSync, lost)], ['t']);
    expect(performance.now() - since).toBeLessThan(10_000);
  });
});
