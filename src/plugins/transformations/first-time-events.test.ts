import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { firstTimeEvents } from './first-time-events.ts';
import { memoryStorage, testHost, type Before } from '../../../test/support/transformation-host.ts';
import { transformBatch } from './transformation.fixture.ts';

const settings = { events: 'paid, signed up' };
const paidBy = (distinct_id: string): Before => ({ event: 'paid', distinct_id });

async function marks(before: readonly Before[], host = testHost()): Promise<unknown[]> {
  const results = await transformBatch(firstTimeEvents, settings, before, host);
  return results.map((result) => [
    result?.properties['is_first_event_ever'],
    result?.properties['is_first_event_for_user'],
  ]);
}

describe('First time event tracker', () => {
  it('does what its example shows', async () => {
    const { settings: shown, before, after } = firstTimeEvents.example;
    expect(await transformBatch(firstTimeEvents, shown, [before])).toEqual([after]);
  });

  it('is right within a batch and across batches', async () => {
    const host = testHost();
    expect(await marks([paidBy('a'), paidBy('b'), paidBy('a')], host)).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
    expect(await marks([paidBy('a'), paidBy('c'), { ...paidBy('a'), event: 'signed up' }], host)).toEqual([
      [false, false],
      [false, true],
      [true, true],
    ]);
  });

  it('does not change other events, and does not read the storage for them', async () => {
    const refuse = async (): Promise<never> => {
      throw new Error('no storage expected');
    };
    const storage = { ...memoryStorage(), getMany: refuse, set: refuse };
    expect(await marks([{ event: 'other' }, { event: 'constructor' }], testHost({ storage }))).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it('reads once per batch, and writes each key once', async () => {
    const values = new Map<string, JsonValue>();
    const memory = memoryStorage(values);
    const calls: string[] = [];
    const storage = {
      ...memory,
      getMany: (keys: readonly string[]) => {
        calls.push(`get ${keys.length}`);
        return memory.getMany(keys);
      },
      set: (key: string, value: JsonValue) => {
        calls.push('set');
        return memory.set(key, value);
      },
    };
    await marks([paidBy('a'), paidBy('a'), paidBy('b')], testHost({ storage }));
    expect(calls).toEqual(['get 3', 'set', 'set', 'set']);
    expect(values.size).toBe(3);
  });

  it('names that are equal when joined are not confused', async () => {
    const host = testHost();
    const tricky = { events: 'a, a_b' };
    await transformBatch(firstTimeEvents, tricky, [{ event: 'a', distinct_id: 'b_c' }], host);
    const [result] = await transformBatch(firstTimeEvents, tricky, [{ event: 'a_b', distinct_id: 'c' }], host);
    expect(result?.properties).toEqual({ is_first_event_ever: true, is_first_event_for_user: true });
  });

  it('refuses an empty list', () => {
    expect(() => firstTimeEvents.create({ events: ' , ' }, testHost())).toThrow('at least one event name');
  });
});
