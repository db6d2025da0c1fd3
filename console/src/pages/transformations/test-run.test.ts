import { expect, it } from 'vitest';
import { testSteps } from './test-run.ts';
import type { Transformation } from './transformation-queries.ts';

const step = (id: number, enabled: boolean): Transformation => ({ id, enabled }) as Transformation;
const chain = [step(1, true), step(2, false), step(3, false), step(4, true)];

it('a disabled step is tested with unsaved changes, at its position among the enabled steps', () => {
  const plan = { config: step(3, false), chain, settings: { a: 'b' } };
  expect(testSteps({ ...plan, scope: 'step' })).toEqual([{ config_id: 3, settings: { a: 'b' } }]);
  expect(testSteps({ ...plan, scope: 'chain' })).toEqual([
    { config_id: 1 },
    { config_id: 3, settings: { a: 'b' } },
    { config_id: 4 },
  ]);
});

it('unsaved file settings are omitted', () => {
  const plan = { config: step(1, true), chain, scope: 'step', settings: { map: new File(['x'], 'x') } } as const;
  expect(testSteps(plan)).toEqual([{ config_id: 1 }]);
});
