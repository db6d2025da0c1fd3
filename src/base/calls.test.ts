import { parseExact } from './exact-json.ts';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '../wire/contract/errors.ts';
import { answerOver, callOver, CallError } from './calls.ts';

const { port1, port2 } = new MessageChannel();
afterEach(() => {
  port1.close();
});

describe('calls between threads', () => {
  it('return their own answers and errors; other messages are ignored', async () => {
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

  it('an error keeps its name and code, so that callers need not match its message', async () => {
    const own = new MessageChannel();
    answerOver(own.port2, {
      full: async () => {
        throw new ApiError('unavailable', 'The live lane is full.');
      },
      failing: async () => {
        throw Object.assign(new RangeError('beyond'), { code: 7 });
      },
    });
    const call = callOver(own.port1);
    const error: unknown = await call('full').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CallError);
    expect(error).toMatchObject({ name: 'ApiError', code: 'unavailable', message: 'The live lane is full.' });
    expect(await call('failing').catch((reason: unknown) => reason)).toMatchObject({
      name: 'RangeError',
      code: undefined,
    });
    own.port1.close();
  });

  it('an answer or an argument that cannot be cloned only fails its own call', async () => {
    const own = new MessageChannel();
    const rawNumber: unknown = parseExact('12345678901234567890');
    answerOver(own.port2, { big: async () => rawNumber, small: async () => 1 });
    const call = callOver(own.port1);
    await expect(call('big')).rejects.toThrow('could not be cloned');
    await expect(call('small', rawNumber)).rejects.toThrow('could not be cloned');
    expect(await call('small')).toBe(1);
    own.port1.close();
  });
});
