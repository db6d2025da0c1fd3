import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBench, type Bench } from '../../test/support/pipeline.ts';

const uuid = '0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
const digits = uuid.replaceAll('-', '');
const spellings = [
  uuid,
  uuid.toUpperCase(),
  digits,
  digits.toUpperCase(),
  `{${uuid}}`,
  `{${digits}}`,
  `urn:uuid:${uuid}`,
  ` ${uuid}`,
  // As long as one with dashes.
  `  ${digits}  `,
  `\t{${digits}}\n`,
];

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

const event = (given: string) => ({
  event: 'seen',
  distinct_id: 'ada',
  uuid: given,
  timestamp: '2026-11-20T11:00:00Z',
  properties: { a: 1 },
});

describe('the uuid of an event', () => {
  it.each(['live', 'historical'] as const)(
    'is the same one in every spelling, %s, copied as bytes or not',
    async (lane) => {
      await bench.append(lane, { batch: spellings.map(event) }, { events: spellings.length });
      await bench.drain();
      expect([...new Set(bench.recording.rows.map((row) => row.uuid))]).toEqual([uuid]);
      expect(bench.recording.rows).toHaveLength(spellings.length);
    },
  );

  it('is the same in a dead letter', async () => {
    await bench.append('historical', {
      batch: [
        { ...event(digits), timestamp: 'never' },
        { ...event('x'), event: 'bad' },
      ],
    });
    await bench.drain();
    const letters = await bench.db.selectFrom('dead_letters').select('event_uuid').orderBy('event_uuid').execute();
    expect(letters.map((each) => each.event_uuid)).toEqual([uuid, 'x']);
  });
});
