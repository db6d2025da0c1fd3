import { expect, it } from 'vitest';
import { withDefaults } from '../../plugins/check-settings.ts';
import { batchOf, framed, startLyingBroker, type Lies } from '../../../test/support/lying-broker.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import { kafka } from './kafka.ts';
import { readSource, testSourceHost } from './source-host.fixture.ts';

// Real: sockets, the client library, the source. Doubled: the broker, which speaks the protocol and lies.

async function readFrom(lies: Lies): Promise<{ readonly fetches: number; readonly lines: readonly string[] }> {
  await using broker = await startLyingBroker(lies);
  const settings = withDefaults(kafka.fields, { brokers: broker.brokers, topic: 'events' });
  const parts = await readSource(kafka.createSource(settings, testSourceHost()), {});
  return { fetches: broker.fetches(), lines: [...parts.values()].flat() };
}

async function failureOf(lies: Lies): Promise<SourceError | SourceWaitError> {
  const failure: unknown = await readFrom(lies).catch((error: unknown) => error);
  if (failure instanceof SourceError || failure instanceof SourceWaitError) return failure;
  throw new Error('expected an error of the source, got another end', { cause: failure });
}

const whole = batchOf({ first: 0n, count: 10 });

it('a correct broker is read to its end', async () => {
  expect((await readFrom({ records: () => whole })).lines).toHaveLength(10);
});

const lies: readonly [what: string, lies: Lies, reason: RegExp][] = [
  [
    'a batch of no bytes',
    { records: () => batchOf({ first: 0n, count: 10, lengthSaid: 0 }) },
    /at least 49 bytes, got 0/,
  ],
  ['a negative length', { records: () => batchOf({ first: 0n, count: 10, lengthSaid: -12 }) }, /49 bytes, got -12/],
  [
    'more records than there are',
    { records: () => batchOf({ first: 0n, count: 3, countSaid: 2e9 }) },
    /cannot be read/,
  ],
  [
    'the same batch without an end',
    { records: () => batchOf({ first: 0n, count: 1 }) },
    /beyond offset 1, got batches that end at 0/,
  ],
  [
    'offsets that go backwards',
    { records: () => batchOf({ first: 0n, count: 2, lastDeltaSaid: -5 }) },
    /got batches that end at -5/,
  ],
  ['nothing without an end', { records: () => Buffer.alloc(0) }, /returned no records at offset 0/],
  ['a batch that is never whole', { records: () => whole.subarray(0, -1) }, /returned no records at offset 0/],
];

it.each(lies)('a broker that returns %s ends the read with that value in the error', async (_what, told, reason) => {
  expect((await failureOf(told)).message).toMatch(reason);
});

it.each<[string, (right: Buffer) => Buffer]>([
  ['lists of 2e9 entries', (right) => framed(Buffer.concat([right.subarray(4, 18), Buffer.from('7fffffff', 'hex')]))],
  [
    'an answer to another question',
    (right) => Buffer.concat([right.subarray(0, 4), Buffer.alloc(4, 9), right.subarray(8)]),
  ],
  ['a negative size', (right) => Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xf0]), right.subarray(4)])],
])('a broker that responds with %s is not awaited forever', async (_what, frame) => {
  const failure = await failureOf({ records: () => whole, frame });
  expect(failure).toMatchObject({ unlimited: false });
});
