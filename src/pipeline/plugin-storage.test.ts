/** The storage of transformations when windows fail and are processed again. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lane } from '../log/eventlog.ts';
import { definePlugin } from '../plugins/plugin.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import { whileThere } from '../../test/support/slot-world.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';

/** Numbers the events that it sees, across windows. */
const counter = definePlugin({
  kind: 'transformation',
  slug: 'counter',
  name: 'Counter',
  description: '',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: (_settings, { storage }) => ({
    batch: async (events) => {
      for (const event of events) event.properties['number'] = await storage.increment('n', 1);
      return events;
    },
  }),
});

let bench: Bench;
let isStoreThere: () => boolean;
beforeEach(async () => {
  isStoreThere = () => true;
  const storageDb = (db: Metadata): Metadata => whileThere(db, () => isStoreThere());
  bench = await createBench({ plugins: [counter], windowEventsMax: 4, storageDb });
  await bench.addTransformation('counter');
});
afterEach(() => bench[Symbol.asyncDispose]());

let made = 0;
async function append(events: number, lane: Lane = 'live'): Promise<void> {
  const timestamp = new Date(receivedAt).toISOString();
  const batch = Array.from({ length: events }, () => ({ event: 'e', distinct_id: 'p', uuid: uuid(++made), timestamp }));
  await bench.append(lane, { batch }, { events });
}

const numbers = (): unknown[] =>
  bench.recording.read().map(({ properties }) => (JSON.parse(properties) as { number: unknown }).number);
const kept = () => bench.db.selectFrom('plugin_storage').select(['key', 'value']).execute();

describe('a counter of a transformation', () => {
  it.each(['before_insert', 'after_insert', 'after_metadata_commit', 'after_log_commit'])(
    'is exact when windows fail at %s and are processed again',
    async (place) => {
      let times = 0;
      bench.setFailpoint((name) => {
        if (name !== place) return;
        times += 1;
        if (times === 2 || times === 3) throw new Error(`failure ${times} at ${place}`);
      });
      for (let record = 0; record < 10; record++) await append(3);
      await bench.drain();
      const expected = Array.from({ length: 30 }, (_, index) => index + 1);
      expect(numbers().toSorted((a, b) => Number(a) - Number(b))).toEqual(expected);
      expect(await kept()).toEqual([{ key: 'n', value: '30' }]);
      expect(times).toBeGreaterThan(3);
    },
  );

  it('sees every event, even if the store is unavailable during a read', async () => {
    let asked = 0;
    // A key that is not in memory is read once per window.
    isStoreThere = () => (asked += 1) % 3 === 0;
    for (let record = 0; record < 10; record++) {
      await append(3);
      await bench.drain();
    }
    expect(numbers().toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
    expect(await kept()).toEqual([{ key: 'n', value: '30' }]);
    expect(asked).toBeGreaterThan(10);
  });

  it('continues with its value after a restart', async () => {
    await append(3);
    await bench.drain();
    await bench.stop();
    await append(2);
    await bench.drain();
    expect(numbers()).toEqual([1, 2, 3, 4, 5]);
  });

  it('is exact after a restart with a historical range in progress and waiting live events', async () => {
    bench.setFailpoint((name) => {
      if (name === 'after_insert') throw new Error('interrupted');
    });
    await append(3, 'historical');
    bench.start();
    await expect.poll(() => bench.recording.rows.length).toBe(3);
    await bench.stop();
    bench.setFailpoint(() => {});
    await append(2);
    await bench.drain();
    expect(numbers().toSorted()).toEqual([1, 2, 3, 4, 5]);
  });
});
