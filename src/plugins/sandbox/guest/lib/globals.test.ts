import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeAll(async () => {
  isolate = await openTestIsolate();
});

afterAll(() => isolate.close());

describe('globals', () => {
  it.each(['setTimeout', 'setInterval', 'setImmediate', 'process', 'fs'])('%s is absent', async (name) => {
    expect(await isolate.run(`typeof globalThis[${JSON.stringify(name)}]`)).toBe('undefined');
  });

  it('none of them is enumerable, so that they are not exports', async () => {
    expect(
      await isolate.run(
        `Object.keys(globalThis).filter((name) => !['start', 'settle', 'require', 'meta'].includes(name))`,
      ),
    ).toEqual([]);
  });
});
