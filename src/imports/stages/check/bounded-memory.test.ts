import { describe, expect, it } from 'vitest';
import { hashIdentity, hashText, type Words } from './event-keys.ts';
import { createIdSample } from './id-sample.ts';
import { createKeySet } from './key-set.ts';
import { createRepeatedKeys } from './repeated-keys.ts';
import { createSharedDevices } from './shared-devices.ts';
import { createSpillBuffer, type SpillFile } from './spill-buffer.ts';

function hashOf(text: string): Words {
  const words = { low: 0, high: 0 };
  hashText(text, words);
  return words;
}

const row = { micros: 0, keyLow: 1, keyHigh: 1, sumLow: 0, sumHigh: 0, contentLow: 0, contentHigh: 0, name: 0 };

describe('what the check keeps in memory has a bound', () => {
  it('events: a full buffer takes no more until it has been flushed, and an event larger than it goes alone', () => {
    const buffer = createSpillBuffer({ bufferBytes: 1000, blockBytes: 300 });
    const file: SpillFile = { length: 0, runs: [] };
    let flushes = 0;
    const flush = (): void => {
      for (const block of buffer.flush(file)) expect(block.length).toBeGreaterThan(0);
      flushes += 1;
    };
    const sizes = Array.from({ length: 100 }, (_, n) => (n === 50 ? 5000 : 100));
    for (const size of sizes) {
      if (buffer.add(row, 'x'.repeat(size))) continue;
      flush();
      expect(buffer.add(row, 'x'.repeat(size))).toBe(true);
    }
    flush();
    // At most nine of 101 bytes fit.
    expect(flushes).toBeGreaterThanOrEqual(Math.ceil(99 / 9) + 1);
    const blocks = file.runs.flatMap((run) => run.blocks);
    expect(blocks.reduce((all, { events }) => all + events, 0)).toBe(100);
    expect(blocks.filter(({ bytes }) => bytes > 300).map(({ events }) => events)).toEqual([1]);
    expect(blocks.at(-1)?.end).toBe(file.length);
  });

  it('different ids: exact as long as they fit, close beyond, the same in pieces as in one', () => {
    const whole = createIdSample(4096);
    let exact = 0;
    const pieces = [createIdSample(4096), createIdSample(4096), createIdSample(4096)];
    for (let n = 0; n < 60_000; n += 1) {
      const hash = hashOf(`user-${n % 50_000}`);
      whole.add(hash);
      pieces[n % 3]?.add(hash);
      if (n === 4000) exact = whole.estimate;
    }
    expect(exact).toBe(4001);
    const merged = createIdSample(4096);
    for (const piece of pieces) merged.merge(piece.save());
    expect(merged.save()).toEqual(whole.save());
    expect(Math.abs(whole.estimate - 50_000)).toBeLessThan(3000);
    expect(Buffer.from(whole.save().hashes, 'base64').length).toBeLessThanOrEqual(4096 * 8);
  });

  it('events on several days: exact when they fit, estimated from a sample when not', () => {
    const count = (total: number, sizeMax: number): number => {
      const repeated = createRepeatedKeys(total, sizeMax);
      for (const day of [0, 1]) {
        for (let n = 0; n < total / 2; n += 1) {
          const { low, high } = hashOf(`${day === 1 && n % 4 === 0 ? 0 : day}-${n}`);
          repeated.add(low, high, day);
        }
      }
      return repeated.count;
    };
    expect(count(40_000, 100_000)).toBe(5000);
    expect(Math.abs(count(40_000, 5000) - 5000)).toBeLessThan(700);
  });

  it('shared devices: ids of several persons are found, and it says when it could not remember all', () => {
    const devices = createSharedDevices({ ids: 100, shared: 5, persons: 3 });
    for (let n = 0; n < 90; n += 1) devices.add(`device-${n}`, `user-${n}`);
    for (const person of ['a', 'b', 'a']) devices.add('device-7', person);
    devices.add('device-3', 'user-3');
    expect(devices.shared).toEqual([{ id: 'device-7', persons: 3 }]);
    expect(devices.isIncomplete).toBe(false);
    for (let n = 90; n < 120; n += 1) devices.add(`device-${n}`, `user-${n}`);
    expect(devices.isIncomplete).toBe(true);
  });

  it('keys: 300,000 identities that differ in one part only are all different, and known again', () => {
    const uuid = (n: number): string => `0190a000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
    const keys = createKeySet();
    const key = { low: 0, high: 0 };
    const fixed = hashOf('fixed');
    const add = (n: number, name: Words, id: Words): boolean => {
      hashIdentity(uuid(n), name, id, key);
      return keys.add(key.low, key.high, n) === undefined;
    };
    let repeated = 0;
    for (let n = 0; n < 100_000; n += 1) {
      if (!add(n, fixed, fixed)) repeated += 1;
      if (!add(0, hashOf(`event ${n}`), fixed)) repeated += 1;
      if (!add(0, fixed, hashOf(`user ${n}`))) repeated += 1;
    }
    expect(repeated).toBe(0);
    expect(keys.size).toBe(300_000);
    expect(add(99_999, fixed, fixed)).toBe(false);
    expect([keys.add(0, 0, 7), keys.add(0, 0, 8)]).toEqual([undefined, 7]);
  });
});
