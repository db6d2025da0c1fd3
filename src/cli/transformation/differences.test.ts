import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import type { TrialEvent } from '../../pipeline/transform/trial-event.ts';
import { differences } from '../commands/transformation.ts';

const after: TrialEvent = {
  uuid: '0190a6b3-6f1e-7c3c-9f6b-3d6c5a0f7a11',
  event: 'seen',
  distinct_id: 'p',
  timestamp: '2026-11-20T00:00:00.000000Z',
  properties: { a: 1, b: { c: [1, 2], d: 3 }, $plugins_succeeded: ['X (1)'], $plugins_failed: [] },
};
const properties = { b: { d: 3, c: [1, 2] }, a: 1 };

describe('an expected event', () => {
  it.each<[string, JsonValue, TrialEvent | null]>([
    ['whatever the order of its keys', { properties, event: 'seen' }, after],
    ['without the labels of what ran', { properties }, after],
    ['with them', { properties: { ...properties, $plugins_succeeded: ['X (1)'] } }, after],
    ['at the same moment', { timestamp: '2026-11-20T01:00:00+01:00' }, after],
    ['that is dropped', null, null],
  ])('matches %s', (_name, expected, event) => {
    expect(differences(expected, event)).toEqual([]);
  });

  it.each<[string, JsonValue, TrialEvent | null, object]>([
    ['another value', { properties: { ...properties, a: 2 } }, after, { path: '/properties/a', before: 1, after: 2 }],
    ['a property too many', { properties: { a: 1 } }, after, { path: '/properties/b', op: 'remove' }],
    ['a missing one', { properties: { ...properties, e: 1 } }, after, { path: '/properties/e', op: 'add' }],
    [
      'another label',
      { properties: { ...properties, $plugins_succeeded: ['Y'] } },
      after,
      { path: '/properties/$plugins_succeeded/0' },
    ],
    ['another moment', { timestamp: '2026-11-21' }, after, { path: '/timestamp' }],
    ['a dropped event', null, after, { path: '', op: 'replace', after: null }],
    ['one that was dropped', { event: 'seen' }, null, { path: '', op: 'replace', before: null }],
  ])('differs by %s', (_name, expected, event, difference) => {
    expect(differences(expected, event)).toMatchObject([difference]);
  });

  it.each<[JsonValue, string]>([
    [{ event: 'seen', $set: {} }, 'remove $set'],
    ['seen', 'got: "seen"'],
  ])('must be an event: %j', (expected, message) => {
    expect(() => differences(expected, after)).toThrow(message);
  });
});
