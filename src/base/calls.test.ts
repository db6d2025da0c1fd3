import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { answerOver, callOver } from './calls.ts';

const { port1, port2 } = new MessageChannel();
afterEach(() => {
  port1.close();
});

describe('calls between threads', () => {
  it('each gets its own answer, an error its message; other messages pass by', async () => {
    answerOver(port2, {
      double: async (value: number) => value * 2,
      slow: async (ms: number) => new Promise((resolve) => setTimeout(() => resolve('late'), ms)),
      fail: async () => {
        throw new Error('no room');
      },
    });
    const call = callOver(port1);
    port2.postMessage({ metrics: [] });
    port1.postMessage({ stop: true });
    const late = call('slow', 20);
    expect(await Promise.all([call('double', 1), call('double', 2)])).toEqual([2, 4]);
    expect(await late).toBe('late');
    await expect(call('fail')).rejects.toThrow('no room');
    await expect(call('constructor')).rejects.toThrow('expected one of the calls double, slow, fail, got: constructor');
  });
});
