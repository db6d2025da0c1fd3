import { expect, it, vi } from 'vitest';
import { createFailpoint } from './failpoint.ts';

it('a failpoint stays off unless failpoints are allowed', () => {
  const kill = vi.fn<() => void>();
  createFailpoint('after_insert', false, kill)('after_insert');
  createFailpoint('', true, kill)('after_insert');
  expect(kill).not.toHaveBeenCalled();
});

it('a failpoint fires at the given visit of the given place only', () => {
  const kill = vi.fn<() => void>();
  const failpoint = createFailpoint('after_insert:2', true, kill);
  failpoint('before_insert');
  failpoint('after_insert');
  expect(kill).not.toHaveBeenCalled();
  failpoint('after_insert');
  failpoint('after_insert');
  expect(kill).toHaveBeenCalledOnce();
});
