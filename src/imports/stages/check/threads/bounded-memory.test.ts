import { describe, expect, it } from 'vitest';
import { createFirstValues } from '../rows/first-values.ts';
import { hashIdentity, hashText, type Words } from '../rows/event-keys.ts';
import { createIdSample } from '../tally/id-sample.ts';
import { createSharedDevices } from '../tally/shared-devices.ts';

function hashOf(text: string): Words {
  const words = { low: 0, high: 0 };
  hashText(text, words);
  return words;
}

describe('memory of the check is bounded', () => {
  it('different ids: exact as long as they fit, close beyond, the same in segments as in one', () => {
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
    expect([whole.isExact, createIdSample(4096).isExact]).toEqual([false, true]);
    expect(Buffer.from(whole.save().hashes, 'base64').length).toBeLessThanOrEqual(4096 * 8);
  });

  it('shared devices: ids of several persons are found, and it reports when it could not keep all', () => {
    const devices = createSharedDevices({ ids: 100, shared: 5, persons: 3 });
    for (let n = 0; n < 90; n += 1) devices.add(`device-${n}`, `user-${n}`);
    for (const person of ['a', 'b', 'a']) devices.add('device-7', person);
    devices.add('device-3', 'user-3');
    expect(devices.shared).toEqual([{ id: 'device-7', persons: 3 }]);
    expect(devices.isIncomplete).toBe(false);
    for (let n = 90; n < 120; n += 1) devices.add(`device-${n}`, `user-${n}`);
    expect(devices.isIncomplete).toBe(true);
  });

  it('keys: 300,000 identities that differ in one part only are all different, and found again', () => {
    const uuid = (n: number): string => `0190a000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
    const keys = createFirstValues(1_000_000);
    const key = { low: 0, high: 0 };
    const fixed = hashOf('fixed');
    let size = 0;
    const add = (n: number, name: Words, id: Words): boolean => {
      hashIdentity(uuid(n), name, id, key);
      return keys.firstOf(key.low, key.high, (size += 1)) === size;
    };
    let repeated = 0;
    for (let n = 0; n < 100_000; n += 1) {
      if (!add(n, fixed, fixed)) repeated += 1;
      if (!add(0, hashOf(`event ${n}`), fixed)) repeated += 1;
      if (!add(0, fixed, hashOf(`user ${n}`))) repeated += 1;
    }
    expect(repeated).toBe(0);
    expect(size).toBe(300_000);
    expect(add(99_999, fixed, fixed)).toBe(false);
    expect([keys.firstOf(0, 0, 7), keys.firstOf(0, 0, 8)]).toEqual([7, 7]);
  });
});
