import { expect, it } from 'vitest';
import { testSteps } from './test-run.ts';
import type { Transformation } from './transformation-queries.ts';

const step = (id: number, enabled: boolean): Transformation => ({ id, enabled }) as Transformation;
const chain = [step(1, true), step(2, false), step(3, false), step(4, true)];

it('a step that is switched off is tried with what is not saved, at its place among those that are on', () => {
  const plan = { config: step(3, false), chain, settings: { a: 'b' } };
  expect(testSteps({ ...plan, scope: 'step' })).toEqual([{ config_id: 3, settings: { a: 'b' } }]);
  expect(testSteps({ ...plan, scope: 'chain' })).toEqual([
    { config_id: 1 },
    { config_id: 3, settings: { a: 'b' } },
    { config_id: 4 },
  ]);
});

it('files that are not saved stay out', () => {
  const plan = { config: step(1, true), chain, scope: 'step', settings: { map: new File(['x'], 'x') } } as const;
  expect(testSteps(plan)).toEqual([{ config_id: 1 }]);
});
