import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { downsampling } from './downsampling.ts';
import { transform } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const ids = Array.from({ length: 4000 }, (_, index) => `user-${index}`);
const uuidOf = (index: number): string => `01900000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`;

function keptIds(percentage: string): string[] {
  return ids.filter((distinct_id) => transform(downsampling, { percentage }, { distinct_id }) !== null);
}

describe('downsampling', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = downsampling.example;
    expect(transform(downsampling, settings, before)).toEqual(after);
  });

  it('decides by the first 15 digits of the SHA-256 of the distinct_id, as the published plugin does', () => {
    const expected = ids.filter((id) => {
      const digest = createHash('sha256').update(id).digest('hex');
      return Number.parseInt(digest.slice(0, 15), 16) / Number('0xfffffffffffffff') <= 0.3;
    });
    expect(keptIds('30')).toEqual(expected);
  });

  it('kept persons stay when the percentage grows', () => {
    const kept = keptIds('20');
    expect(kept.length).toBeGreaterThan(600);
    expect(kept.length).toBeLessThan(1000);
    const more = new Set(keptIds('21.5'));
    expect(kept.filter((id) => !more.has(id))).toEqual([]);
  });

  it.each([
    ['0', 0, 0],
    ['100', 4000, 4000],
    ['25', 850, 1150],
  ])('random sampling of %s %% keeps that share, and decides an event again as before', (percentage, least, most) => {
    const settings = { percentage, samplingMethod: 'Random sampling' };
    const run = () => ids.map((_, index) => transform(downsampling, settings, { uuid: uuidOf(index) }) !== null);
    const kept = run();
    expect(run()).toEqual(kept);
    const count = kept.filter(Boolean).length;
    expect(count).toBeGreaterThanOrEqual(least);
    expect(count).toBeLessThanOrEqual(most);
  });

  it('only the named events', () => {
    const settings = { percentage: '0', triggeringEvents: 'a, b' };
    expect(transform(downsampling, settings, { event: 'b' })).toBeNull();
    expect(transform(downsampling, settings, { event: 'c' })).not.toBeNull();
  });

  it.each(['', ' ', 'many', '-1', '101', 'NaN', '1e9'])('refuses a percentage of "%s"', (percentage) => {
    const create = () => downsampling.create(percentage === '' ? { percentage: ' ' } : { percentage }, testHost());
    expect(create).toThrow('expected a number from 0 to 100');
  });
});
