import { describe, expect, it } from 'vitest';
import { readAll } from '../../../test/support/format-check.ts';
import { evidenceKinds, type EvidencedRule } from './format.ts';
import { recordNotes } from './record-notes.ts';
import { findFormat, formats } from './registry.ts';

const rules = formats.flatMap((format) =>
  evidenceKinds.map((kind) => [format.slug, kind, format.evidence[kind], format] as const),
);

/** The faults of a rule. */
function faultsOf(slug: string, rule: EvidencedRule, options: readonly string[]): readonly string[] {
  const faults: string[] = [];
  if (!rule.rule.endsWith('.')) faults.push('expected a sentence');
  if ('because' in rule) return rule.because.endsWith('.') ? faults : [...faults, 'expected a reason'];
  if (rule.option !== undefined && !options.includes(rule.option)) faults.push(`no option ${rule.option}`);
  if ('sources' in rule) {
    return [...faults, ...rule.sources.filter((url) => !/^https:\/\/\S+$/.test(url))];
  }
  const { kind, formats: noting } = recordNotes[rule.note];
  if (kind !== 'assumed' || !(noting as readonly string[]).includes(slug)) faults.push(`no warning ${rule.note}`);
  return faults;
}

describe('the rules of every format', () => {
  it.each(rules)(
    '%s: the rule about %s names what it rests on, or is a choice with a warning',
    (slug, _kind, rule, { options }) => {
      const keys = options.map(({ key }) => key);
      expect(faultsOf(slug, rule, keys)).toEqual([]);
    },
  );

  it('a format with an option for its time zone documents it', () => {
    const zoned = formats.filter(({ options }) => options.some(({ key }) => key === 'time_zone'));
    expect(zoned.length).toBeGreaterThan(4);
    const options = zoned.map(({ evidence: { zone } }) => ('option' in zone ? zone.option : undefined));
    expect(new Set(options)).toEqual(new Set(['time_zone']));
  });
});

type Zoneless = readonly [slug: string, record: object, options: Readonly<Record<string, string>>];

const zoneless: readonly Zoneless[] = [
  [
    'adobe-analytics',
    { date_time: '2024-05-01 10:20:30', visid_high: '1', visid_low: '2', page_url: 'https://a.example/' },
    {},
  ],
  ['heap', { event_id: '1', user_id: '2', time: '2024-05-01 10:20:30' }, { event: 'seen' }],
  ['june', { type: 'track', name: 'seen', user_id: 'u', timestamp: '2024-05-01 10:20:30' }, {}],
  ['statsig', { name: 'seen', userID: 'u', timestamp: '2024-05-01 10:20:30' }, {}],
];

describe('a time without a zone, where the vendor does not document the zone', () => {
  it.each(zoneless)(
    '%s: is read as UTC with a warning, or in the zone of the option time_zone',
    (slug, record, options) => {
      const format = findFormat(slug);
      if (format === undefined) throw new Error(`expected a format ${slug}`);
      const timeOf = (more: Readonly<Record<string, string>>, given: object = record): unknown => {
        const [result] = readAll(format, [given], { ...options, ...more });
        return result?.kind === 'events' ? [result.events.at(-1)?.timestamp, result.notes ?? []] : result;
      };
      const note = { of: 'zone_assumed', sample: '2024-05-01 10:20:30' };
      expect(timeOf({})).toEqual(['2024-05-01T10:20:30.000Z', [note]]);
      expect(timeOf({ time_zone: 'UTC' })).toEqual(['2024-05-01T10:20:30.000Z', []]);
      expect(timeOf({ time_zone: 'Europe/Berlin' })).toEqual(['2024-05-01T08:20:30.000Z', []]);
      const zoned = JSON.parse(JSON.stringify(record).replace('10:20:30', '10:20:30Z')) as object;
      expect(timeOf({}, zoned)).toEqual(['2024-05-01T10:20:30.000Z', []]);
    },
  );

  it('Adobe: a time in GMT needs no zone', () => {
    const [, record] = zoneless[0] ?? [];
    const [result] = readAll(findFormat('adobe-analytics') ?? never(), [{ ...record, hit_time_gmt: '1714558830' }]);
    expect(result).not.toHaveProperty('notes');
  });

  it('Adobe: hits in the background, which its reports do not count, are skipped', () => {
    const [, record] = zoneless[0] ?? [];
    const [shown, hidden] = readAll(findFormat('adobe-analytics') ?? never(), [
      { ...record, hit_time_gmt: '1714558830', customer_perspective: '0' },
      { ...record, hit_time_gmt: '1714558831', customer_perspective: '1' },
    ]);
    expect(shown?.kind).toBe('events');
    expect(hidden).toMatchObject({ kind: 'skipped', reason: 'customer_perspective 1: a background hit' });
  });
});

function never(): never {
  throw new Error('expected the format');
}
