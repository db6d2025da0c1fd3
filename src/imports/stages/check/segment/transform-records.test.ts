import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { Transform, TransformOutcome } from '../../../transform.ts';
import { transformOf } from '../../../../../test/support/transform-double.ts';
import { createSegmentMemory } from '../threads/segment-memory.ts';
import { transformRecords, type ReadRecord } from './transform-records.ts';

function eventOf(n: number): WireEvent {
  const uuid = '01900000-0000-7000-8000-000000000001';
  return { uuid, event: 'e', distinct_id: 'u', timestamp: '2024-01-01T00:00:00Z', properties: { n } };
}

const records = (count: number): ReadRecord[] =>
  Array.from({ length: count }, (_, line) => ({
    line,
    text: `{"n":${line}}`,
    result: { kind: 'events', events: [eventOf(2 * line), eventOf(2 * line + 1)] },
  }));

interface CountingTransform extends Transform {
  readonly sizes: readonly number[];
  readonly closed: () => number;
}

function countingTransform(outcomeOf: (event: WireEvent) => TransformOutcome): CountingTransform {
  const sizes: number[] = [];
  let closed = 0;
  const transform = transformOf(() => outcomeOf);
  return {
    ...transform,
    sizes,
    closed: () => closed,
    open: async () => {
      const opened = await transform.open();
      return {
        ...opened,
        run: async (events) => {
          sizes.push(events.length);
          return await opened.run(events);
        },
        close: async () => {
          closed += 1;
        },
      };
    },
  };
}

const kept = (event: WireEvent): TransformOutcome => ({ kind: 'kept', event });
const memory = createSegmentMemory();
const never = { signal: new AbortController().signal, memory };

describe('transforming records', () => {
  it('yields records in order and passes events in batches', async () => {
    const transform = countingTransform(kept);
    const found = await Array.fromAsync(transformRecords(transform, records(1000), never));
    expect(found.map(({ line }) => line)).toEqual(records(1000).map(({ line }) => line));
    expect(found.map(({ result }) => result)).toMatchObject(records(1000).map(({ result }) => result));
    expect(transform.sizes).toEqual([512, 512, 512, 464]);
    expect(transform.closed()).toBe(1);
  });

  it('a failure in a batch ahead surfaces in its turn', async () => {
    const transform = countingTransform((event) => {
      if (event.properties['n'] === 600) throw new Error('gone');
      return kept(event);
    });
    const lines: number[] = [];
    const all = async (): Promise<void> => {
      for await (const { line } of transformRecords(transform, records(1000), never)) {
        lines.push(line);
        await setImmediate();
      }
    };
    await expect(all()).rejects.toThrow('gone');
    expect([lines.length, transform.closed()]).toEqual([256, 1]);
  });

  it('a caller that stops early waits for the running batch, and the transform is closed', async () => {
    const transform = countingTransform(kept);
    for await (const { line } of transformRecords(transform, records(1000), never)) if (line === 3) break;
    expect([transform.sizes, transform.closed()]).toEqual([[512, 512], 1]);
  });

  it('an aborted run uses no result that arrived after the abort', async () => {
    const stop = new AbortController();
    const transform = countingTransform(kept);
    const all = async (): Promise<void> => {
      for await (const { line } of transformRecords(transform, records(1000), { signal: stop.signal, memory })) {
        if (line === 255) stop.abort(new Error('paused'));
      }
    };
    await expect(all()).rejects.toThrow('paused');
    expect(transform.closed()).toBe(1);
  });
});
