/** Both paths produce the same row: the fast path may only accept events that the other one does not change. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanLimits } from '../wire/batch/limits.ts';
import { validateEvent } from '../wire/batch/validate.ts';
import type { Lane } from '../log/eventlog.ts';
import { EventRowWriter } from '../stores/events/rows.ts';
import { parseExact } from '../base/exact-json.ts';
import { noChanges } from './persons/registers.ts';
import { openRecord, type OpenRecord } from './open-record.ts';
import { receivedAt, uuid } from '../../test/support/pipeline.ts';
import { decodeRows } from '../../test/support/event-store-double.ts';
import { readEvent } from './read-event.ts';
import { readGroups } from './steps/read-groups.ts';
import { changesPerson } from './spliced-person.ts';
import { resolveProfile } from './steps/resolve-profile.ts';

const limits = { scan: scanLimits(100_000), inflatedBytesMax: 1_000_000 };
const dayMicros = 86_400_000_000;

interface Sender {
  readonly lane: Lane;
  readonly sentAt?: number;
  readonly ip?: string;
}

function open(event: string, { lane, sentAt, ip }: Sender): OpenRecord {
  const header = {
    projectId: 7,
    receivedAt,
    encoding: 'identity' as const,
    events: 1,
    requestId: 'r',
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(ip === undefined ? {} : { ip }),
  };
  return openRecord(lane, { seq: 1, header, body: Buffer.from(`[${event}]`) }, limits);
}

const writer = new EventRowWriter();

/** Returns the row of each path; that of the fast path is undefined if it does not accept the event. */
function rowsOf(event: string, sender: Sender) {
  const { context, scan, splicer } = open(event, sender);
  if (!validateEvent(scan, 0, sender.lane, receivedAt).ok) return undefined;
  let fast;
  if (splicer.accepts(0)) {
    splicer.write(writer, 0);
    fast = { id: splicer.distinctId(0), row: decodeRows(writer.take())[0] };
  }
  const draft = readEvent(context, scan, 0, parseExact);
  const says = changesPerson(scan, 0);
  if (resolveProfile(draft) !== undefined || readGroups(draft) !== undefined)
    return { fast, slow: undefined, draft, says };
  writer.write({
    projectId: 7,
    historical: sender.lane === 'historical',
    receivedAtMicros: receivedAt * 1000,
    timestampMicros: draft.micros,
    keyDay: Math.floor(draft.keyMicros / dayMicros),
    uuid: draft.uuid,
    event: draft.event,
    distinctId: draft.distinctId,
    properties: draft.propertiesText ?? JSON.stringify(draft.properties),
  });
  return { fast, slow: { id: draft.distinctId, row: decodeRows(writer.take())[0] }, draft, says };
}

const space = fc.constantFrom('', ' ', '\n\t');
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '"plain"',
    '"$pageview"',
    '"$identify"',
    '"$groupidentify"',
    '"es\\u0063aped"',
    '"\\ud800"',
    '"a\\u0000"',
  ),
);
const key = fc.constantFrom(
  '"a"',
  '"$ip"',
  '"$set"',
  '"$unset"',
  '"$groups"',
  '"alias"',
  '"__proto__"',
  '"\\u0024set"',
  '"$process_person_profile"',
  '"$ignore_sent_at"',
  '"distinct_id"',
  '"$group_type"',
  '"$group_key"',
);
const value = fc.oneof(
  text,
  fc.constantFrom('1', '1.0', '1e2', 'null', 'true', 'false', '{"x":{"y":[1]}}', '[]', '"1.2.3.4"'),
);
const object = fc
  .array(fc.tuple(key, value, space), { maxLength: 4 })
  .map((pairs) => `{${pairs.map(([k, v, s]) => `${s}${k}${s}:${s}${v}`).join(',')}}`);
const time = fc.oneof(
  fc.constantFrom(
    '"2026-11-20T11:00:00Z"',
    '"2026-11-20T11:00:00.123456789Z"',
    '"2026-11-20"',
    '"2026-11-20T11:00:00+02:00"',
    '"2026-11-22T11:00:00Z"',
    '"1899-12-31T23:59:59Z"',
    '"1900-01-01T00:00:00Z"',
    '"2299-12-31T23:59:59.999Z"',
    '"nonsense"',
    '1790000000',
    '"1790000000000"',
    'null',
  ),
  fc
    .date({ min: new Date('1900-01-01'), max: new Date(receivedAt), noInvalidDate: true })
    .map((date) => JSON.stringify(date)),
);
/** Mostly the plain value, so that enough events are entirely plain. */
const member = (name: string, plain: string, unusual: fc.Arbitrary<string>) =>
  fc
    .oneof(
      { weight: 5, arbitrary: fc.constant<string | null>(plain) },
      { weight: 2, arbitrary: unusual },
      fc.constant(null),
    )
    .map((each) => (each === null ? null : `"${name}":${each}`));
const oddId = fc.constantFrom('7', '{"a": 1}', `"${'x'.repeat(201)}"`, `"${'é'.repeat(120)}"`);
const oddUuid = fc.constantFrom('"ABCDEF00-0000-7000-8000-000000000001"', '""', 'null');
const event = fc
  .tuple(
    member('event', '"seen"', text),
    member('distinct_id', '"p"', fc.oneof(text, oddId)),
    member('uuid', `"${uuid(5)}"`, oddUuid),
    member('timestamp', '"2026-11-20T11:00:00.5Z"', time),
    member('properties', '{ "a" : 1 }', fc.oneof(object, fc.constantFrom('{}', '{ }', 'null'))),
    fc.option(fc.constantFrom('"offset":100', '"$set":{"a":1}', '"$set_once":null', '"type":"capture"'), { freq: 1 }),
  )
  .map((members) => `{${members.filter((each) => each !== null).join(' , ')}}`);
const sender = fc.record(
  {
    lane: fc.constantFrom<Lane>('live', 'historical'),
    sentAt: fc.constantFrom(receivedAt, receivedAt - 1234, receivedAt + 100_000_000),
    ip: fc.constantFrom('10.0.0.1', '::1'),
  },
  { requiredKeys: ['lane'] },
);

describe('the fast path', () => {
  it('the fast path stores the same row as the other path, whatever it accepts', () => {
    let taken = 0;
    fc.assert(
      fc.property(event, sender, (json, from) => {
        const rows = rowsOf(json, from);
        if (rows?.fast === undefined) return;
        taken += 1;
        expect(rows.fast).toEqual(rows.slow);
        expect(rows.draft).toMatchObject({ person: { merge: null }, groups: null });
        // The fast path reports that one as well: see sent-again.test.ts.
        const isSkewed = from.lane === 'live' && from.sentAt === receivedAt + 100_000_000;
        expect(rows.draft.warnings.map(({ type }) => type)).toEqual(isSkewed ? ['clock_skew_corrected'] : []);
        expect(rows.says || rows.draft.person?.changes === noChanges).toBe(true);
      }),
      { numRuns: 5000 },
    );
    expect(taken).toBeGreaterThan(300);
  });

  it.each([
    ['a plain event', {}],
    ['an automatic one', { event: '$autocapture' }],
    ['an upper-case uuid', { uuid: 'ABCDEF00-0000-7000-8000-000000000001' }],
    ['text beyond ASCII', { event: 'größe', distinct_id: 'Jürgen 😀', properties: { 名: '😀' } }],
    ['names of built-ins', { distinct_id: '__proto__', properties: JSON.parse('{"__proto__":{"x":1}}') as object }],
  ])('the fast path accepts %s', (_name, more) => {
    const plain = {
      event: 'seen',
      distinct_id: 'p',
      uuid: uuid(1),
      timestamp: '2026-11-20T11:00:00.5Z',
      properties: { a: 1 },
    };
    for (const from of [{ lane: 'live', ip: '10.0.0.1', sentAt: receivedAt - 5 }, { lane: 'historical' }] as const) {
      const rows = rowsOf(JSON.stringify({ ...plain, ...more }), from);
      expect(rows?.fast).toBeDefined();
      expect(rows?.fast).toEqual(rows?.slow);
    }
  });

  it('numbers of any size and repeated keys are stored as sent', () => {
    const properties = '{"big":12345678901234567890123,"huge":1e999,"exact":1.10,"a":1,"a":2}';
    const json = (more: string): string =>
      `{"event":"e","distinct_id":"p","uuid":"${uuid(1)}","timestamp":"2026-11-20T11:00:00${more}","properties":${properties}}`;
    expect(rowsOf(json('Z'), { lane: 'live' })?.fast?.row?.properties).toBe(properties);
    const slow = rowsOf(json('+00:00'), { lane: 'live' });
    expect(slow?.fast).toBeUndefined();
    expect(slow?.slow?.row?.properties).toBe(properties);
  });
});
