import { describe, expect, it } from 'vitest';
import { readAll } from '../../../test/support/format-check.ts';
import { evidenceKinds } from './evidence.ts';
import { recordNotes } from './record-notes.ts';
import { findFormat, formats } from './registry.ts';

const rules = formats.flatMap((format) =>
  evidenceKinds.map((kind) => [format.slug, kind, format.evidence[kind], format] as const),
);

describe('the rules of every format', () => {
  it.each(rules)(
    '%s: the rule about %s names what it rests on, or is a choice with a warning',
    (slug, _kind, rule, format) => {
      expect(rule.rule).toMatch(/\.$/);
      if ('sources' in rule) for (const url of rule.sources) expect(url).toMatch(/^https:\/\/\S+$/);
      const options = format.options.map(({ key }) => key);
      if ('option' in rule && rule.option !== undefined) expect(options).toContain(rule.option);
      if ('note' in rule) {
        expect(recordNotes[rule.note].kind).toBe('assumed');
        expect(recordNotes[rule.note].formats).toContain(slug);
      }
      if ('because' in rule) expect(rule.because).toMatch(/\.$/);
    },
  );

  it('a format with an option for its zone says so', () => {
    for (const { slug, options, evidence } of formats) {
      const hasZone = options.some(({ key }) => key === 'time_zone');
      if (hasZone) expect([slug, 'option' in evidence.zone && evidence.zone.option]).toEqual([slug, 'time_zone']);
    }
  });
});

const zoneless: readonly (readonly [slug: string, record: unknown, options?: Readonly<Record<string, string>>])[] = [
  [
    'adobe-analytics',
    { date_time: '2024-05-01 10:20:30', visid_high: '1', visid_low: '2', page_url: 'https://a.example/' },
  ],
  ['heap', { event_id: '1', user_id: '2', time: '2024-05-01 10:20:30' }, { event: 'seen' }],
  ['june', { type: 'track', name: 'seen', user_id: 'u', timestamp: '2024-05-01 10:20:30' }],
  ['statsig', { name: 'seen', userID: 'u', timestamp: '2024-05-01 10:20:30' }],
];

describe('a time without a zone, of which the vendor does not say which one holds', () => {
  it.each(zoneless)(
    '%s: is taken as UTC with a warning, or as the option time_zone says',
    (slug, record, options = {}) => {
      const format = findFormat(slug);
      if (format === undefined) throw new Error(`expected a format ${slug}`);
      const timeOf = (more: Readonly<Record<string, string>>, given: unknown = record): unknown => {
        const [result] = readAll(format, [given], { ...options, ...more });
        return result?.kind === 'events' ? [result.events.at(-1)?.timestamp, result.notes ?? []] : result;
      };
      const note = { of: 'zone_assumed', sample: '2024-05-01 10:20:30' };
      expect(timeOf({})).toEqual(['2024-05-01T10:20:30.000Z', [note]]);
      expect(timeOf({ time_zone: 'UTC' })).toEqual(['2024-05-01T10:20:30.000Z', []]);
      expect(timeOf({ time_zone: 'Europe/Berlin' })).toEqual(['2024-05-01T08:20:30.000Z', []]);
      const zoned = JSON.parse(JSON.stringify(record).replace('10:20:30', '10:20:30Z')) as unknown;
      expect(timeOf({}, zoned)).toEqual(['2024-05-01T10:20:30.000Z', []]);
    },
  );

  it('Adobe: a time in GMT needs no zone', () => {
    const [, record] = zoneless[0] ?? [];
    const [result] = readAll(findFormat('adobe-analytics') ?? never(), [
      { ...(record as object), hit_time_gmt: '1714558830' },
    ]);
    expect(result).not.toHaveProperty('notes');
  });

  it('Adobe: hits in the background, which its reports do not count, are skipped', () => {
    const [, record] = zoneless[0] ?? [];
    const [shown, hidden] = readAll(findFormat('adobe-analytics') ?? never(), [
      { ...(record as object), hit_time_gmt: '1714558830', customer_perspective: '0' },
      { ...(record as object), hit_time_gmt: '1714558831', customer_perspective: '1' },
    ]);
    expect(shown?.kind).toBe('events');
    expect(hidden).toMatchObject({ kind: 'skipped', reason: 'customer_perspective 1: a hit in the background' });
  });
});

function never(): never {
  throw new Error('expected the format');
}
