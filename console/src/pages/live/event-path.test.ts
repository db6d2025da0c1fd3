import { describe, expect, it } from 'vitest';
import type { LiveEvent, LiveSnapshot } from '../../../../src/wire/contract/live-events.ts';
import { pathOf } from './event-path.ts';

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

describe('the path of an event', () => {
  it('leads from received to stored with every transformation in between, each compared with the previous one', () => {
    const uuid = '01a2044b-5721-4c1e-a16f-2fe5b38ddbc5';
    const steps = [step('first', snapshot({ a: 1 })), step('second', snapshot({ a: 1, b: 2 }))];
    const transformed = seen('transformed', { uuid, before: snapshot({}), steps });
    const stored = seen('stored', { uuid, before: snapshot({}), steps });
    const path = pathOf(stored, [stored, transformed, seen('received'), seen('stored', { uuid: 'another' })]);
    expect(path.map((part) => (part.kind === 'stage' ? part.seen.stage : part.step.label))).toEqual([
      'received',
      'first',
      'second',
      'transformed',
      'stored',
    ]);
    expect(path.flatMap((part) => (part.kind === 'step' ? [part.before?.properties] : []))).toEqual([{}, { a: 1 }]);
  });

  it('ends at the transformation that dropped the event', () => {
    const dropped = seen('dropped', { before: snapshot({}), steps: [step('filter', null)], reason: 'x' });
    const path = pathOf(dropped, [dropped]);
    expect(path.map(({ kind }) => kind)).toEqual(['step', 'stage']);
  });

  it('without a UUID, another time or sender means another event', () => {
    const received = seen('received');
    const others = [seen('stored', { uuid: 'u', distinct_id: 'bob' }), seen('stored', { received_at: '2026-11-22' })];
    expect(pathOf(received, others)).toHaveLength(1);
  });
});
