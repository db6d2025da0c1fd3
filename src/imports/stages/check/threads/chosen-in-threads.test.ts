import { describe, expect, it } from 'vitest';
import type { ImportChoice } from '../../../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { amplitudeRecords } from '../../../formats/amplitude/records.fixture.ts';
import { mixpanelRecords } from '../../../formats/mixpanel/records.fixture.ts';
import { posthogRecords } from '../../../formats/posthog/records.fixture.ts';
import { segmentRecords } from '../../../formats/segment/records.fixture.ts';
import type { CheckResult } from '../../../run/results.ts';
import type { RunOptions } from '../../../run/run.ts';
import type { TransformOutcome } from '../../../transform.ts';
import { checkTest, type CheckTest } from '../../../../../test/support/check-stage.ts';
import { transformOf } from '../../../../../test/support/transform-double.ts';
import type { CheckLimits } from '../check-deps.ts';

const small: Partial<CheckLimits> = { threadBytesMin: 1, deferredRows: 20 };
const whole = Number.MAX_SAFE_INTEGER;

/** Returns lines in a random order, some of them repeated. */
function linesOf(records: readonly unknown[]): readonly string[] {
  const lines = records.map((record) => JSON.stringify(record));
  const again = lines.filter((_, index) => index % 4 === 0);
  return [...lines, ...again.toReversed(), '{"broken', ...again];
}

/** Neither the event nor the link of such a record is stored: its time is too far in the future. */
const refusedWithLinks = [1, 2].map((n) => ({
  event: 'Order Done',
  properties: { time: 9_000_000_000 + n, distinct_id: `u-${n}`, $user_id: `u-${n}`, $device_id: `late-${n}` },
}));

const sources: Readonly<Record<string, { readonly lines: readonly string[]; readonly options: Partial<RunOptions> }>> =
  {
    mixpanel: { lines: linesOf([...mixpanelRecords(3, 120), ...refusedWithLinks]), options: { format: 'mixpanel' } },
    amplitude: { lines: linesOf([...amplitudeRecords(5, 120)]), options: { format: 'amplitude' } },
    posthog: {
      lines: linesOf([...posthogRecords(8, 120)]),
      options: { format: 'posthog', formatOptions: { link_persons: 'yes' } },
    },
    segment: { lines: linesOf([...segmentRecords(4, 120)]), options: { format: 'segment' } },
  };

type Code = (event: WireEvent) => TransformOutcome;
/** What a run requests: a choice, or the effect of its code. */
type Request = readonly [what: string, of: { readonly choice?: ImportChoice; readonly code?: Code }];

const linkNames = new Set(['$identify', '$merge_dangerously', '$create_alias', '$groupidentify']);
const isLink = ({ event }: WireEvent): boolean => linkNames.has(event);
const failed: TransformOutcome = { kind: 'failed', code: 'transform_failed', reason: 'no price' };
const kept = (event: WireEvent): TransformOutcome => ({ kind: 'kept', event });
const dayOf = ({ timestamp }: WireEvent): number => new Date(timestamp).getUTCDate();
const otherUuid = (uuid: string): string => `01900000-0000-7000-8000${uuid.slice(23)}`;

const range = { time: { from: '2024-01-02' } };
/** The outcome of links depends on the time of their records. */
const everywhere: readonly Request[] = [
  [
    'a choice of everything',
    { choice: { ...range, events: { except: ['$identify'] }, sample: 0.7, identity: 'never_merge' } },
  ],
  ['code that fails on every third day', { code: (event) => (dayOf(event) % 3 === 0 ? failed : kept(event)) }],
  ['code that drops every other day', { code: (event) => (dayOf(event) % 2 ? kept(event) : { kind: 'dropped' }) }],
];
const once: readonly Request[] = [
  ['a time range', { choice: range }],
  ['a list that excludes links', { choice: { events: { except: ['$identify', '$merge_dangerously'] } } }],
  ['devices instead of users', { choice: { identity: 'device_only' } }],
  ['rules for unusual values', { choice: { padded_ids: 'trim', long_ids: 'reject', long_names: 'shorten' } }],
  [
    'code that renames events and ids',
    { code: (event) => kept({ ...event, event: `my ${event.event}`, distinct_id: `x-${event.distinct_id}` }) },
  ],
  ['code that drops links', { code: (event) => (isLink(event) ? { kind: 'dropped' } : kept(event)) }],
  ['code that fails on links', { code: (event) => (isLink(event) ? failed : kept(event)) }],
  [
    'code that gives links other uuids',
    { code: (event) => kept(isLink(event) ? { ...event, uuid: otherUuid(event.uuid) } : event) },
  ],
  [
    'code that names ids after the day',
    { code: (event) => kept({ ...event, distinct_id: `${event.distinct_id} ${dayOf(event)}` }) },
  ],
];

const cases = [
  ...Object.keys(sources).flatMap((name) => everywhere.map(([what, of]) => ({ name, what, of }))),
  ...once.map(([what, of]) => ({ name: 'mixpanel', what, of })),
];

interface Division {
  readonly perSegment: number;
  readonly threads: number;
  /** The check crashes after this many segments, each time it is resumed. */
  readonly crashEvery?: number;
}

async function found(name: string, { choice, code }: Request[1], division: Division): Promise<unknown> {
  const { lines, options } = sources[name] ?? { lines: [], options: {} };
  const requested = { ...(choice && { choice }), ...(code && { transform: { name: 'T', hash: 'h' } }) };
  await using test = await checkTest({ ...options, ...requested, rejectedMax: whole });
  await test.stage('first', lines.slice(0, 70), division.perSegment);
  await test.stage('second', lines.slice(70), division.perSegment);
  const { totals, errors, warnings, odd_values: unusual, identity } = await checkAll(test, code, division);
  const { events_read: read, left_out: excluded = {} } = totals;
  expect(read).toBe(totals.events + Object.values(excluded).reduce((sum, count) => sum + count, 0));
  const events = (await test.lines()).toSorted();
  const rejected = (await test.rejected()).map(({ part, line, code: of, reason }) => [part, line, of, reason]);
  return { totals: withoutReasons(totals), errors, warnings, unusual, identity, events, rejected: rejected.toSorted() };
}

/** Sums up skip reasons: that of a record with links only depends on whether another copy is in the same segment. */
function withoutReasons({ skipped, ...totals }: CheckResult['totals']): unknown {
  return { ...totals, skipped: Object.values(skipped).reduce((sum, count) => sum + count, 0) };
}

async function checkAll(test: CheckTest, code: Code | undefined, { threads, crashEvery = whole }: Division) {
  for (;;) {
    let segments = 0;
    const failpoint = (point: string): void => {
      if (point === 'import_segment_checked' && (segments += 1) === crashEvery) throw new Error('crash');
    };
    const openTransform = code && (async () => transformOf(() => code));
    try {
      return await test.check({ limits: small, threads, failpoint, openTransform });
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'crash') throw error;
    }
  }
}

describe('a choice or a transform in segments', () => {
  it.each(cases)('$name, $what: a check has the same result in one segment and in many', async ({ name, of }) => {
    const expected = await found(name, of, { perSegment: whole, threads: 1 });
    expect(await found(name, of, { perSegment: 60, threads: 1 })).toEqual(expected);
  });

  it.each(everywhere)(
    '%s: a check has the same result in any number of threads, also after crashes',
    async (_what, of) => {
      const expected = await found('mixpanel', of, { perSegment: whole, threads: 1 });
      expect(await found('mixpanel', of, { perSegment: 25, threads: 3 })).toEqual(expected);
      expect(await found('mixpanel', of, { perSegment: 40, threads: 2, crashEvery: 2 })).toEqual(expected);
    },
  );
});
