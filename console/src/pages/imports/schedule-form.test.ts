import { expect, it } from 'vitest';
import { errorsOf, fieldsOf, formOf, spanText, timingText, type ScheduleForm } from './schedule-form.ts';

const form = formOf(undefined);

it('a new schedule runs hourly with an overlap of two hours', () => {
  expect(errorsOf(form)).toEqual({});
  expect(fieldsOf(form, 'UTC')).toEqual({ every_minutes: 60, overlap_minutes: 120, paused: false });
});

it('an edited schedule keeps its values and continues from the last run', () => {
  const record = { every_minutes: null, daily_at: '04:15', overlap_minutes: 0, paused: true };
  const edited = formOf({ ...record, config_name: 'a' } as Parameters<typeof formOf>[0]);
  expect(fieldsOf(edited, 'UTC')).toEqual({ daily_at: '04:15', overlap_minutes: 0, paused: true });
});

it('the start is in the time zone of the project', () => {
  const fields = fieldsOf({ ...form, from: '2026-07-01T02:00' }, 'Europe/Paris');
  expect(fields).toMatchObject({ from: '2026-07-01T00:00:00.000Z' });
});

it.each<[Partial<ScheduleForm>, object]>([
  [{ every: '4' }, { every: 'Expected 5 to 10,080 minutes.' }],
  [{ every: '' }, { every: 'Expected 5 to 10,080 minutes.' }],
  [{ every: '1e3' }, { every: 'Expected 5 to 10,080 minutes.' }],
  [{ timing: 'daily', every: '', daily: '24:00' }, { daily: 'Expected a time such as 03:30.' }],
  [{ overlap: '-1' }, { overlap: 'Expected 0 to 43,200 minutes.' }],
])('%j is refused at its field', (change, errors) => {
  expect(errorsOf({ ...form, ...change })).toEqual(errors);
});

it('spans are shown in the largest unit', () => {
  expect([5, 60, 90, 1440, 2880].map(spanText)).toEqual(['5 min', '1 h', '90 min', '1 d', '2 d']);
  expect(timingText({ every_minutes: 15, daily_at: null })).toBe('every 15 min');
  expect(timingText({ every_minutes: null, daily_at: '03:30' })).toBe('daily at 03:30');
});
