import { describe, expect, it } from 'vitest';
import { deathsBefore } from './thread-host.ts';

describe('the count of deaths that the wait before a restart grows with', () => {
  it.each([
    ['goes on when the thread died at once', 3, 0, 3],
    ['goes on when the thread lived a minute', 3, 60_000, 3],
    ['starts anew when the thread lived longer than a minute', 3, 60_001, 0],
    ['is zero for the first thread', 0, 5, 0],
  ])('%s', (_name, deaths, livedMs, expected) => {
    expect(deathsBefore(deaths, livedMs)).toBe(expected);
  });
});
