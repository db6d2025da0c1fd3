import { afterAll, describe, expect, it } from 'vitest';
import { eventOf, openTestSandbox, specOf } from '../../../test/support/sandbox.ts';

const sandbox = openTestSandbox();
afterAll(() => sandbox.close());

const buffering = `const { createBuffer } = require('@posthog/plugin-contrib');
  exports.setupPlugin = ({ global }) => {
    global.buffer = createBuffer({ limit: 1000, timeoutSeconds: 60, onFlush: async (items) => {
      await undefined;
      if (items.includes('bad')) throw new RetryError('the receiver is away');
      console.log(items.join());
    } });
  }
  exports.onEvent = (event, { global }) => { global.buffer.add(event.event) }`;

async function open(code = buffering) {
  const spec = specOf(code);
  const lines = (): string[] => spec.services.lines.map(({ message }) => message);
  return { instance: await sandbox.open(spec), lines };
}

describe('data that a plugin buffers', () => {
  it('is flushed after the delivery, all together', async () => {
    const { instance, lines } = await open();
    const deliver = (name: string, more?: true) =>
      instance.call({ kind: 'onEvent', events: [eventOf(name)], ...(more && { more }) });
    await Promise.all([deliver('a', true), deliver('b', true)]);
    expect(lines()).toEqual([]);
    await Promise.all([deliver('c', true), deliver('d')]);
    expect(lines()).toEqual(['a,b,c,d']);
  });

  it('is flushed before the delivery succeeds: a failure is reported', async () => {
    const { instance } = await open();
    const call = instance.call({ kind: 'onEvent', events: [eventOf('bad')] });
    await expect(call).rejects.toMatchObject({ kind: 'thrown', retry: true, message: 'the receiver is away' });
  });

  it('is flushed at the teardown', async () => {
    const { instance, lines } = await open();
    await instance.call({ kind: 'onEvent', events: [eventOf('a')], more: true });
    await instance.close();
    expect(lines()).toEqual(['a']);
  });
});
