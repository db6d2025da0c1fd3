import { expect, it } from 'vitest';
import { datesOf, estimateExport, lastYears, withDates } from './source-dates.ts';

const now = Date.parse('2026-11-27T10:00:00Z');

it('dates are kept in the selection beside its other parts', () => {
  const settings = withDates({ choose: '{"sample":0.1}' }, { from: '2024-11-27', before: '' });
  expect(settings).toEqual({ choose: { sample: 0.1, time: { from: '2024-11-27' } } });
  expect(datesOf(settings)).toEqual({ from: '2024-11-27', before: '' });
  expect(withDates(settings, { from: '', before: '' })).toEqual({ choose: { sample: 0.1 } });
  expect(datesOf({ choose: { time: { from: '2024-03-01T12:00:00Z' } } }).from).toBe('2024-03-01');
});

it('two years of Mixpanel take half a day at one day per request, because it allows 60 requests an hour', () => {
  const dates = lastYears(2, now);
  expect(dates.from).toBe('2024-11-27');
  expect(estimateExport('mixpanel', dates, {}, now)).toEqual({ days: 731, ms: 731 * 60_000 });
  expect(estimateExport('mixpanel', dates, { days_per_request: '31' }, now)?.ms).toBe(24 * 60_000);
  expect(estimateExport('amplitude', dates, {}, now)).toEqual({ days: 731, ms: undefined });
  expect(estimateExport('mixpanel', { from: '', before: '' }, {}, now)).toBeUndefined();
  expect(estimateExport('mixpanel', { from: '2024-02-01', before: '2024-01-01' }, {}, now)).toBeUndefined();
});
