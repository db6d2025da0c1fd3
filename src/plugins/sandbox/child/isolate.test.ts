import { describe, expect, it } from 'vitest';
import { bundleGuest } from './serve.ts';
import { createIsolateMaker, type IsolateDeps } from './isolate.ts';

const parts: IsolateDeps = {
  facts: { pluginName: 'Probe', label: 'Probe (1)' },
  memoryBytesMax: 33_554_432,
  fromGuest: () => undefined,
  onRejection: () => undefined,
};

describe('isolates', () => {
  it('only the first of a process compiles the guest', () => {
    const createIsolate = createIsolateMaker(bundleGuest());
    const isolates = [
      createIsolate(parts),
      createIsolate(parts),
      createIsolate({ ...parts, memoryBytesMax: 67_108_864 }),
    ];
    expect(isolates.map(({ isFromCache }) => isFromCache)).toEqual([false, true, true]);
    for (const isolate of isolates) isolate.dispose();
  });

  it('share only the code', () => {
    const createIsolate = createIsolateMaker(bundleGuest());
    const told: unknown[] = [];
    const isolates = [1, 2].map(() =>
      createIsolate({ ...parts, fromGuest: (kind, rest) => void (kind === 'd' && told.push(rest[2])) }),
    );
    for (const isolate of isolates) {
      isolate.enter(
        1000,
        'load',
        1,
        'globalThis.count = (globalThis.count ?? 0) + 1; exports.jobs = { ["n" + count]() {} }',
      );
      isolate.dispose();
    }
    expect(told.map((json) => (JSON.parse(String(json)) as { jobs: unknown }).jobs)).toEqual([['n1'], ['n1']]);
  });
});
