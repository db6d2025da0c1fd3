import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fingerprintOf, listErrors, recordErrors, type PluginFailure } from '../../../src/plugins/services/errors.ts';
import { createPluginLogs } from '../../../src/plugins/services/plugin-logs.ts';
import type { OpenStore, ServicesStore } from '../../support/plugin-store.ts';

const start = Date.parse('2026-11-20T10:00:00.000Z');
const of = { projectId: 1, configId: 7 };

function failure(message: string, more: Partial<PluginFailure> = {}): PluginFailure {
  return { ...of, method: 'processEvent', name: 'TypeError', message, stack: 'at x', time: start, ...more };
}

/** The promises of recorded failures on every metadata store. */
export function testErrors(open: OpenStore): void {
  describe('failures', () => {
    let store: ServicesStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store[Symbol.asyncDispose]());
    const list = () => listErrors(store.db, of);

    it('of one kind are counted, with the newest five as samples', async () => {
      const events = Array.from({ length: 8 }, (_, index) => ({ event: `e${index}`, properties: { index } }));
      const failures = events.map((event, index) => failure(`item ${index} of 10`, { event, time: start + index }));
      await recordErrors(store.db, failures.slice(0, 6));
      await recordErrors(store.db, failures.slice(6));
      const [kind, ...others] = await list();
      expect(others).toEqual([]);
      expect(kind).toMatchObject({
        method: 'processEvent',
        name: 'TypeError',
        message: 'item 7 of 10',
        stack: 'at x',
        count: 8,
        first_seen: '2026-11-20T10:00:00.000000Z',
        last_seen: '2026-11-20T10:00:00.007000Z',
      });
      expect(kind?.samples.map(({ event }) => event)).toEqual(events.slice(3).reverse());
    });

    it('that differ in method, name or words are separate kinds, latest first, of this config alone', async () => {
      await recordErrors(store.db, [
        failure('a', { time: start + 3 }),
        failure('b', { time: start + 2 }),
        failure('a', { name: 'RangeError', time: start + 1 }),
        failure('a', { method: 'setupPlugin', count: 10 }),
        failure('a', { configId: 8 }),
        failure('a', { configId: 9, projectId: 2 }),
      ]);
      const kinds = (await list()).map(({ method, name, message, count }) => [method, name, message, count]);
      expect(kinds).toEqual([
        ['processEvent', 'TypeError', 'a', 1],
        ['processEvent', 'TypeError', 'b', 1],
        ['processEvent', 'RangeError', 'a', 1],
        ['setupPlugin', 'TypeError', 'a', 10],
      ]);
      expect(await listErrors(store.db, { projectId: 2, configId: 7 })).toEqual([]);
    });

    it('late ones do not move back the time of the newest', async () => {
      await recordErrors(store.db, [failure('x', { time: start + 1000 })]);
      await recordErrors(store.db, [failure('x', { time: start })]);
      const [kind] = await list();
      expect(kind?.last_seen).toBe('2026-11-20T10:00:01.000000Z');
      expect(kind?.samples.map(({ time }) => time.slice(17, 19))).toEqual(['01', '00']);
    });

    it('of two concurrent processes all count', async () => {
      const both = [store.db, store.other].flatMap((db) =>
        Array.from({ length: 10 }, () => recordErrors(db, [failure('x'), failure('y'), failure('x')])),
      );
      await Promise.all(both);
      expect((await list()).map(({ message, count }) => [message, count]).sort()).toEqual([
        ['x', 40],
        ['y', 20],
      ]);
    });

    it('keep the fifty kinds seen last', async () => {
      const word = (index: number): string => String.fromCharCode(97 + (index % 26), 97 + Math.floor(index / 26));
      const kinds = Array.from({ length: 70 }, (_, index) => failure(word(index), { time: start + index }));
      await recordErrors(store.db, kinds.slice(0, 45));
      await recordErrors(store.db, kinds.slice(45));
      const expected = Array.from({ length: 50 }, (_, index) => word(69 - index));
      expect((await list()).map(({ message }) => message)).toEqual(expected);
      await recordErrors(
        store.db,
        kinds.map(({ message, time }) => failure(message, { time, name: 'Other' })),
      );
      expect((await list()).filter(({ name }) => name === 'Other')).toHaveLength(25);
    });

    it('huge texts and events are truncated, and characters that stores refuse are replaced', async () => {
      const event = { uuid: 'u', event: 'e', distinct_id: 'd', properties: { long: 'x'.repeat(30_000) } };
      await recordErrors(store.db, [failure(`\u0000\ud800${'m'.repeat(9000)}`, { stack: 's'.repeat(90_000), event })]);
      const [kind] = await list();
      expect([kind?.message.length, kind?.stack.length]).toEqual([2000, 8000]);
      expect(kind?.message.startsWith('\ufffd\ufffdmm')).toBe(true);
      expect(kind?.samples[0]?.event).toEqual({
        uuid: 'u',
        event: 'e',
        distinct_id: 'd',
        properties: { $cut_off: expect.stringContaining('at most 20000 are kept') },
      });
    });

    it('accept events as JSON text; invalid text is shown unchanged', async () => {
      const texts = ['{"event":"e","properties":{}}', '[1]', 'half {'];
      await recordErrors(
        store.db,
        texts.map((event, index) => failure('x', { event, time: start - index })),
      );
      expect((await list())[0]?.samples.map(({ event }) => event)).toEqual([
        { event: 'e', properties: {} },
        { properties: { $unreadable: '[1]' } },
        { properties: { $unreadable: 'half {' } },
      ]);
    });

    it('belong to a transaction: a rollback removes them', async () => {
      const work = store.db.transaction().execute(async (tx) => {
        await recordErrors(tx, [failure('x')]);
        throw new Error('given up');
      });
      await expect(work).rejects.toThrow('given up');
      expect(await list()).toEqual([]);
    });

    it('are removed after the retention of logs', async () => {
      await recordErrors(store.db, [failure('old'), failure('new', { time: start + 86_400_000 })]);
      const now = start + 7.5 * 86_400_000;
      const logs = createPluginLogs(store.db, { days: 7, clock: { now: () => now }, log: { warn: () => undefined } });
      await logs.prune();
      await logs.close();
      expect((await list()).map(({ message }) => message)).toEqual(['new']);
    });
  });

  describe('failures are of one kind', () => {
    it.each([
      ['item 1 failed', 'item 22 failed', true],
      ['took 1.5 s', 'took 20.75 s', true],
      ['user 0190aa11-1111-7111-8111-111111111111', 'user 0190aa11-2222-7111-8111-11111111ffff', true],
      ['token abcdef0123456789abcdef', 'token 99999f0123456789abcdee', true],
      ['cannot read "a"', 'cannot read "b"', false],
      ['expected a number', 'expected a text', false],
    ])('%j and %j: %s', (a, b, same) => {
      const print = (message: string): string => fingerprintOf({ method: 'm', name: 'n', message });
      expect(print(a) === print(b)).toBe(same);
    });
  });
}
