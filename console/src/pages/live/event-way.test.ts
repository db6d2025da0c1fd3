import { describe, expect, it } from 'vitest';
import type { LiveEvent, LiveSnapshot } from '../../../../src/wire/contract/live-events.ts';
import { wayOf } from './event-way.ts';

const at = '2026-11-22T17:00:00.000000Z';
const snapshot = (properties: Record<string, unknown>): LiveSnapshot => ({
  uuid: null,
  event: 'visit',
  distinct_id: 'ada',
  timestamp: at,
  properties,
});
const seen = (stage: LiveEvent['stage'], more: Partial<LiveEvent> = {}): LiveEvent => ({
  stage,
  at,
  ...snapshot({}),
  historical_migration: false,
  received_at: at,
  reason: null,
  detail: null,
  dead_letter: null,
  before: null,
  steps: null,
  ...more,
});
const step = (label: string, after: LiveSnapshot | null) =>
  ({ config_id: 1, label, outcome: after === null ? 'dropped' : 'succeeded', error: null, after }) as const;

describe('the way of an event', () => {
  it('goes from received to stored with every transformation between, each compared with the one before', () => {
    const uuid = '01a2044b-5721-4c1e-a16f-2fe5b38ddbc5';
    const steps = [step('first', snapshot({ a: 1 })), step('second', snapshot({ a: 1, b: 2 }))];
    const transformed = seen('transformed', { uuid, before: snapshot({}), steps });
    const stored = seen('stored', { uuid, before: snapshot({}), steps });
    const way = wayOf(stored, [stored, transformed, seen('received'), seen('stored', { uuid: 'another' })]);
    expect(way.map((part) => (part.kind === 'stage' ? part.seen.stage : part.step.label))).toEqual([
      'received',
      'first',
      'second',
      'transformed',
      'stored',
    ]);
    expect(way.flatMap((part) => (part.kind === 'step' ? [part.before?.properties] : []))).toEqual([{}, { a: 1 }]);
  });

  it('ends where a transformation dropped it', () => {
    const dropped = seen('dropped', { before: snapshot({}), steps: [step('filter', null)], reason: 'x' });
    const way = wayOf(dropped, [dropped]);
    expect(way.map(({ kind }) => kind)).toEqual(['step', 'stage']);
  });

  it('without a uuid, another moment or another sender is another event', () => {
    const received = seen('received');
    const others = [seen('stored', { uuid: 'u', distinct_id: 'bob' }), seen('stored', { received_at: '2026-11-22' })];
    expect(wayOf(received, others)).toHaveLength(1);
  });
});
