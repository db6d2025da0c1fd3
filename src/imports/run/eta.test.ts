import { describe, expect, it } from 'vitest';
import { shareDone, stageEtaMs } from './eta.ts';
import type { StageProgress } from './run.ts';

const progress: StageProgress = {
  stage: 'load',
  partsDone: 1,
  done: 1_000,
  bytes: 10_000,
  rate: 100,
  startedAt: 1_000_000,
  lastProgressAt: 1_010_000,
};
const now = 1_010_000;

describe('the remaining time of a stage', () => {
  const cases: readonly [what: string, change: Partial<StageProgress>, eta: number | undefined, share?: number][] = [
    ['with a total and a rate: the rest by the rate', { total: 3_000 }, 20_000, 1 / 3],
    ['with a total but no rate: by the completed share', { total: 4_000, rate: 0 }, 30_000, 0.25],
    ['with bytes only: by their share', { bytesTotal: 20_000 }, 10_000, 0.5],
    ['with parts only: by their share', { partsTotal: 5 }, 40_000, 0.2],
    ['without any total: unknown', {}, undefined],
    ['nothing done yet: unknown', { done: 0, rate: 0, total: 100 }, undefined, 0],
    ['stalled: unknown', { total: 3_000, lastProgressAt: now - 61_000 }, undefined, 1 / 3],
    ['all counted but not finished: unknown', { total: 1_000 }, undefined, 1],
    ['more done than the total: unknown', { total: 900 }, undefined, 1],
    ['finished: 0', { finishedAt: 1_005_000 }, 0, 1],
  ];

  it.each(cases)('%s', (_what, change, eta, share) => {
    expect(stageEtaMs({ ...progress, ...change }, now)).toBe(eta);
    expect(shareDone({ ...progress, ...change })).toBe(share);
  });
});
