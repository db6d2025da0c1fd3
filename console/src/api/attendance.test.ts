import { expect, it } from 'vitest';
import { watchAttendance } from './attendance.ts';

it('a page without input for a minute is unattended until the next input', () => {
  const page = new EventTarget();
  let now = 0;
  const { isUnattended } = watchAttendance(page, () => now);
  now = 60_000;
  expect(isUnattended()).toBe(false);
  now = 60_001;
  expect(isUnattended()).toBe(true);
  page.dispatchEvent(new Event('keydown'));
  expect(isUnattended()).toBe(false);
});
