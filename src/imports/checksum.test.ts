import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  contentKindOf,
  contentKinds,
  createChecksum,
  createContentChecksum,
  emptyChecksum,
  runMark,
  withoutRunMark,
  xorChecksums,
} from './checksum.ts';

interface Identity {
  readonly uuid: string;
  readonly id: string;
  readonly micros: number;
}

const identities = fc.array(
  fc.record({ uuid: fc.uuid(), id: fc.string({ unit: 'binary' }), micros: fc.integer({ min: -2e15, max: 9e15 }) }),
);

function digitsOf(events: readonly Identity[]): string {
  const checksum = createChecksum();
  for (const { uuid, id, micros } of events) checksum.add(uuid, id, micros);
  return checksum.digits();
}

/** Computes the checksum literally by its definition. */
function byDefinition(events: readonly Identity[]): string {
  const all = events.reduce(
    (sum, { uuid, id, micros }) =>
      sum ^
      createHash('md5')
        .update(Buffer.from(`${uuid}\0${id}\0${micros}`))
        .digest()
        .readBigUInt64LE(0),
    0n,
  );
  return all.toString(16).padStart(16, '0');
}

describe('checksum of stored events', () => {
  it('is the XOR of the first eight bytes of md5, little-endian, in any order', () => {
    fc.assert(
      fc.property(identities, (events) => {
        expect(digitsOf(events)).toBe(byDefinition(events));
        expect(digitsOf([...events].reverse())).toBe(digitsOf(events));
      }),
    );
  });

  it('is zeros for no events, and changes with uuid, distinct_id and time', () => {
    const event = { uuid: '0190a000-0000-7000-8000-000000000001', id: 'a', micros: 1 };
    expect(digitsOf([])).toBe(emptyChecksum);
    const digits = [event, { ...event, uuid: event.uuid.replace(/1$/, '2') }, { ...event, id: 'b' }];
    const sums = [...digits, { ...event, micros: 2 }].map((each) => digitsOf([each]));
    expect(new Set(sums).size).toBe(4);
  });

  it('takes microseconds as bigint and as number alike', () => {
    const one = createChecksum();
    const other = createChecksum();
    one.add('u', 'd', 1_700_000_000_123_456);
    other.add('u', 'd', 1_700_000_000_123_456n);
    expect(one.digits()).toBe(other.digits());
  });

  it.each(contentKinds)('of contents (%s) depends on which event has which properties, not on the run', (kind) => {
    const event = (uuid: string) => ({ uuid, distinctId: 'a', micros: 1 });
    const digits = (...events: readonly (readonly [uuid: string, properties: string])[]): string => {
      const checksum = createContentChecksum(kind);
      for (const [uuid, properties] of events) checksum.add(event(uuid), properties);
      return checksum.digits();
    };
    expect(digits(['u', '{"a":1}'], ['v', '{"a":2}'])).toBe(digits(['v', '{"a":2}'], ['u', '{"a":1}']));
    expect(digits(['u', '{"a":1}'], ['v', '{"a":2}'])).not.toBe(digits(['u', '{"a":2}'], ['v', '{"a":1}']));
    expect(contentKindOf(digits(['u', '{}']))).toBe(kind);
    expect(xorChecksums(digits(['u', '{"a":1}']), digits(['v', '{"a":2}']))).toBe(
      digits(['u', '{"a":1}'], ['v', '{"a":2}']),
    );
  });

  it('omits the run mark, which ends the properties', () => {
    const stored = `{"a":1${runMark('run-1')}`;
    expect(JSON.parse(stored)).toEqual({ a: 1, $import_run_id: 'run-1' });
    expect(withoutRunMark(stored, 'run-1')).toBe('{"a":1}');
    expect(withoutRunMark(stored, 'run-2')).toBe(stored);
  });
});
