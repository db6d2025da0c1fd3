import { expect, it } from 'vitest';
import type { ImportStageRecord } from '../../../src/wire/contract/import-runs.ts';
import { durationMs, runProgress } from './run-progress.ts';

function stage(name: ImportStageRecord['stage'], more: Partial<ImportStageRecord> = {}): ImportStageRecord {
  return {
    stage: name,
    state: 'pending',
    unit: 'events',
    parts_done: 0,
    parts_total: null,
    done: 0,
    total: null,
    bytes: 0,
    bytes_total: null,
    share: null,
    rate: 0,
    eta_seconds: null,
    started_at: null,
    finished_at: null,
    last_progress_at: null,
    ...more,
  };
}

const read = stage('export', {
  state: 'done',
  started_at: '2026-11-01T10:00:00Z',
  finished_at: '2026-11-01T10:01:00Z',
});

it('the duration of a run is the time to its end, and of an undone one that of the undo', () => {
  const run = { started_at: '2026-11-01T10:00:00Z', finished_at: '2026-11-01T12:00:00Z' };
  const undo = stage('undo', { started_at: '2026-11-01T11:59:30Z', finished_at: run.finished_at });
  expect(durationMs({ ...run, stages: [read] })).toBe(7_200_000);
  expect(durationMs({ ...run, stages: [undo] })).toBe(30_000);
  expect(durationMs({ ...run, finished_at: null, stages: [read] })).toBeUndefined();
});

it('the progress of a run covers all of its stages, weighted by their usual duration', () => {
  const check = stage('check', { state: 'active', share: 0.5, eta_seconds: 150 });
  const stages = [read, check, stage('load'), stage('verify'), stage('report')];
  const progress = runProgress({ stages, stage: 'check', state: 'running' });
  expect(progress).toMatchObject({ name: 'Check', step: 2, steps: 5 });
  expect(progress?.share).toBeCloseTo(3.5 / 13.7);
  // Reading took 1 min and the check takes 5 min: one minute for each unit of weight.
  expect(progress?.leftMs).toBeCloseTo((2.5 + 6 + 1.5 + 0.2) * 60_000);
});

it('a run that waits for an estimate or for a user has no time left', () => {
  const stages = [read, stage('check', { state: 'active' })];
  expect(runProgress({ stages, stage: 'check', state: 'running' })?.leftMs).toBeUndefined();
  const known = [read, stage('check', { state: 'active', share: 0.5, eta_seconds: 9 })];
  expect(runProgress({ stages: known, stage: 'check', state: 'paused' })?.leftMs).toBeUndefined();
});
