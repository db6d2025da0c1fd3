import { describe, expect, it } from 'vitest';
import type { Run } from './imports-query.ts';
import { actionsOf, loadBody } from './run-actions.ts';
import { isHeldByCheck } from '../../components/run-state-badge.tsx';

type ActionRun = Parameters<typeof actionsOf>[0];

function run(change: Partial<ActionRun> = {}, options: Partial<Run['options']> = {}): ActionRun {
  const target = { kind: 'project', url: null } as const;
  const totals = { rejected: 0 } as Run['totals'];
  const all = { last: 'report', limit: null, target, ...options } as Run['options'];
  return { state: 'completed', stage: 'report', check_problems: [], command: null, totals, options: all, ...change };
}

describe('the actions of a run', () => {
  it('a checked run can be loaded, and has nothing to undo', () => {
    expect(actionsOf(run({ stage: 'check' }, { last: 'check' }))).toEqual(['load']);
  });

  it('a failed check offers to skip rejected records, with the tolerance that requires', () => {
    const totals = { records: 204_002, rejected: 235, loaded: 0 } as Run['totals'];
    const checked = run({ stage: 'check', check_problems: ['too_many_rejected'], totals }, { last: 'check' });
    expect(isHeldByCheck(checked)).toBe(true);
    expect(actionsOf(checked)).toEqual(['skip_rejected']);
    expect(loadBody(checked)).toEqual({ last: 'report', rejected_max: 0.0012 });
    const failed = run({ ...checked, state: 'failed', stage: 'load' });
    expect(actionsOf(failed)).toEqual(['skip_rejected', 'cancel']);
    expect(loadBody(failed)).toMatchObject({ rejected_max: 0.0012 });
  });

  it('a failed check that no tolerance resolves offers no load that would fail', () => {
    const nothing = run({ stage: 'check', check_problems: ['no_events'] }, { last: 'check' });
    expect(actionsOf(nothing)).toEqual([]);
    const both = run(
      { check_problems: ['too_many_rejected', 'stored_before'], totals: { records: 3, rejected: 1 } as Run['totals'] },
      { last: 'check' },
    );
    expect(actionsOf(both)).toEqual(['load_in_addition']);
    expect(loadBody(both)).toEqual({ last: 'report', rejected_max: 0.3334, again: true });
  });

  it('a run of the command line can only be resumed by its command', () => {
    const command = 'millrace import mixpanel export.ndjson';
    expect(actionsOf(run({ state: 'running', stage: 'load', command }))).toEqual(['pause', 'cancel']);
    expect(actionsOf(run({ state: 'paused', stage: 'load', command }))).toEqual(['cancel']);
    expect(actionsOf(run({ command }))).toEqual(['undo']);
  });

  it('a trial can be promoted, and only a run with rejected records can retry them', () => {
    expect(actionsOf(run({}, { limit: 10 }))).toEqual(['promote', 'verify', 'undo']);
    expect(actionsOf(run({ totals: { rejected: 2 } as Run['totals'] }))).toEqual(['retry_rejected', 'verify', 'undo']);
  });

  it('a run that loaded into another service cannot be undone here', () => {
    const elsewhere = { target: { kind: 'http', url: 'https://eu.example.com' } } as const;
    expect(actionsOf(run({ state: 'failed', stage: 'load' }, elsewhere))).toEqual(['resume', 'cancel']);
  });

  it('an undo can be paused and resumed, but not cancelled', () => {
    expect(actionsOf(run({ state: 'running', stage: 'undo' }))).toEqual(['pause']);
    expect(actionsOf(run({ state: 'paused', stage: 'undo' }))).toEqual(['resume']);
    expect(actionsOf(run({ state: 'failed', stage: 'undo' }))).toEqual(['resume']);
  });
});
