import { describe, expect, it } from 'vitest';
import { withDefaults } from '../check-settings.ts';
import type { SettingValues } from '../fields.ts';
import { deDuplicator } from './de-duplicator.ts';
import { testHost, testEvent, type Before } from '../../../test/support/transformation-host.ts';
import { transform } from './transformation.fixture.ts';

function uuidAfter(before: Before, settings: SettingValues = {}): string {
  const run = deDuplicator.create(withDefaults(deDuplicator.fields, settings), testHost());
  if (typeof run !== 'function') throw new Error('expected one event at a time');
  const result = run(testEvent(before));
  if (result === null) throw new Error('expected the event to be kept');
  return result.uuid;
}

const paid: Before = { event: 'paid', properties: { amount: 5 } };
const all = { dedupMode: 'All Properties' };

describe('De-duplicator', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = deDuplicator.example;
    expect(transform(deDuplicator, settings, before)).toEqual(after);
  });

  it('sets the same uuid as the published plugin', () => {
    // Computed once with the published plugin, for the same event of project 1.
    expect(uuidAfter(paid)).toBe('2a3016a1-0711-5eff-90a6-b69762792ba6');
    expect(uuidAfter(paid, all)).toBe('ea695ae6-1374-5005-b0da-3cc32843238d');
  });

  it.each<[string, Before]>([
    ['event', { event: 'refunded' }],
    ['person', { distinct_id: 'u2' }],
    ['time', { timestamp: '2026-01-01T00:00:00.001Z' }],
  ])('another %s is another event', (_name, change) => {
    expect(uuidAfter({ ...paid, ...change })).not.toBe(uuidAfter(paid));
  });

  it('the original uuid is ignored; properties count on request', () => {
    const other: Before = { ...paid, uuid: '01900000-0000-7000-8000-000000000001', properties: { amount: 6 } };
    expect(uuidAfter(other)).toBe(uuidAfter(paid));
    expect(uuidAfter(other, all)).not.toBe(uuidAfter(paid, all));
  });

  it('markers of transformations are ignored, so that another chain changes nothing', () => {
    const marked: Before = { ...paid, properties: { amount: 5, $plugins_succeeded: ['Rename (3)'] } };
    expect(uuidAfter(marked, all)).toBe(uuidAfter(paid, all));
  });

  it('does not change events of libraries that set uuids', () => {
    const event = testEvent({ properties: { $lib: 'web' } });
    expect(uuidAfter({ properties: { $lib: 'web' } })).toBe(event.uuid);
    expect(uuidAfter({ properties: { $lib: 'web' } }, { skipLibs: 'other' })).not.toBe(event.uuid);
  });
});
