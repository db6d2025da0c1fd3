import { describe, expect, it } from 'vitest';
import type { Run } from './imports-query.ts';
import { actionsOf } from './run-actions.ts';

type Steered = Parameters<typeof actionsOf>[0];

function run(change: Partial<Steered> = {}, options: Partial<Run['options']> = {}): Steered {
  const target = { kind: 'project', url: null } as const;
  const totals = { rejected: 0 } as Run['totals'];
  const all = { last: 'report', limit: null, target, ...options } as Run['options'];
  return { state: 'completed', stage: 'report', totals, options: all, ...change };
}

describe('what is offered for a run', () => {
  it('a run that was checked only is loaded next, and nothing is there to take back', () => {
    expect(actionsOf(run({ stage: 'check' }, { last: 'check' }))).toEqual(['load']);
  });

  it('a trial leads to the whole, and only a run with rejected records tries them again', () => {
    expect(actionsOf(run({}, { limit: 10 }))).toEqual(['promote', 'verify', 'undo']);
    expect(actionsOf(run({ totals: { rejected: 2 } as Run['totals'] }))).toEqual(['retry_rejected', 'verify', 'undo']);
  });

  it('what went to another service is not taken back from here', () => {
    const elsewhere = { target: { kind: 'http', url: 'https://eu.example.com' } } as const;
    expect(actionsOf(run({ state: 'failed', stage: 'load' }, elsewhere))).toEqual(['resume', 'cancel']);
  });

  it('an undo is paused and goes on, but is not called off halfway', () => {
    expect(actionsOf(run({ state: 'running', stage: 'undo' }))).toEqual(['pause']);
    expect(actionsOf(run({ state: 'paused', stage: 'undo' }))).toEqual(['resume']);
    expect(actionsOf(run({ state: 'failed', stage: 'undo' }))).toEqual(['resume']);
  });
});
