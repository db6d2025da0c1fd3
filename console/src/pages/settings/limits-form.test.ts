import { expect, it } from 'vitest';
import { defaultText, formOf, limitFault, limitsOf } from './limits-form.ts';

it('an empty limit is the default of the service, and 0 is unlimited', () => {
  const limits = { events_per_second: null, bytes_per_second: 0, backlog_bytes: 1_000_000_000_000 };
  const form = formOf(limits);
  expect(form).toEqual({ events_per_second: '', bytes_per_second: '0', backlog_bytes: '1000000000000' });
  expect(limitsOf(form)).toEqual(limits);
  const defaults = { events_per_second: 0, bytes_per_second: 2000, backlog_bytes: 0 };
  expect(defaultText({ defaults }, 'events_per_second')).toBe('Default: unlimited');
  expect(defaultText({ defaults }, 'bytes_per_second')).toBe('Default: 2,000');
});

it.each(['-1', '1.5', '1e3', 'many', '1000000000001', '99999999999999'])('refuses %s', (text) => {
  expect(limitFault(text)).toContain('Expected a whole number');
  expect(limitsOf({ events_per_second: text, bytes_per_second: '', backlog_bytes: '' })).toBeUndefined();
});
