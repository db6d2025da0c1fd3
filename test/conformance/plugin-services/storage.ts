import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PluginStorage } from '../../../src/plugins/host.ts';
import type { JsonValue } from '../../../src/base/json.ts';
import { createStorage } from '../../../src/plugins/services/storage.ts';
import type { OpenStore, ServicesStore } from '../../support/plugin-store.ts';

const of = { configId: 7, projectId: 1 };

/** The promises of the storage of jobs on every metadata store. */
export function testStorage(open: OpenStore): void {
  describe('storage that writes immediately', () => {
    let store: ServicesStore;
    let storage: PluginStorage;
    beforeEach(async () => {
      store = await open();
      storage = createStorage(store.db, of);
    });
    afterEach(() => store[Symbol.asyncDispose]());

    it.each<[string, JsonValue]>([
      ['null', null],
      ['false', false],
      ['0', 0],
      ['a float', 1.5e-7],
      ['an empty text', ''],
      ['a text with everything', 'ünï 🙂 \u0000 \ud800 "\\'],
      ['a deep value', { a: [1, { b: null }], __proto__: 'x', 'k.ey': [] }],
    ])('%s is returned unchanged', async (_name, value) => {
      await storage.set('k', { other: 1 });
      await storage.set('k', value);
      expect(await storage.get('k')).toEqual(value);
    });

    it('an unset key is undefined, also after a deletion', async () => {
      expect(await storage.get('k')).toBeUndefined();
      await storage.set('k', 1);
      await storage.delete('k');
      await storage.delete('k');
      expect(await storage.get('k')).toBeUndefined();
    });

    it('similar keys are distinct for any characters', async () => {
      const keys = [
        'a\u0000b',
        'a\\u0000b',
        'a\\b',
        'a/b',
        'a\ud800b',
        'a\ufffdb',
        "a'b",
        'A',
        'a',
        ' a',
        '%',
        '_',
        '🙂',
      ];
      for (const [index, key] of keys.entries()) await storage.set(key, index);
      const found = await storage.getMany([...keys, 'missing', 'a']);
      expect([...found]).toEqual(keys.map((key, index) => [key, index]));
    });

    it('thousands of keys are read in one call', async () => {
      const rows = Array.from({ length: 1200 }, (_, index) => {
        return { config_id: 7, project_id: 1, key: `k${index}`, value: String(index) };
      });
      for (let from = 0; from < rows.length; from += 300) {
        await store.db
          .insertInto('plugin_storage')
          .values(rows.slice(from, from + 300))
          .execute();
      }
      const found = await storage.getMany(rows.map(({ key }) => key));
      expect(found.size).toBe(1200);
      expect(found.get('k1199')).toBe(1199);
      expect((await storage.getMany([])).size).toBe(0);
    });

    it('configs do not see the values of others', async () => {
      const other = createStorage(store.db, { ...of, configId: 8 });
      await storage.set('k', 'mine');
      await other.set('k', 'theirs');
      await other.delete('k');
      expect(await storage.get('k')).toBe('mine');
    });

    it('concurrent increments from two processes all count', async () => {
      const other = createStorage(store.other, of);
      const sums = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? storage : other).increment('n', 1)),
      );
      expect(sums.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
      expect(await storage.increment('n', -0.5)).toBe(39.5);
      expect(await storage.get('n')).toBe(39.5);
    });

    it.each<[JsonValue, string]>([
      ['5', 'a value of type string'],
      [null, 'null'],
      [[1], 'a list'],
    ])('adding to %j is an error and changes nothing', async (value, got) => {
      await storage.set('n', value);
      await expect(storage.increment('n', 1)).rejects.toThrow(`expected a number at "n" to add to, got: ${got}`);
      expect(await storage.get('n')).toEqual(value);
    });

    it('adding a non-finite number is an error and creates no key', async () => {
      await expect(storage.increment('n', Number.NaN)).rejects.toThrow('expected a finite number to add');
      await expect(storage.increment('n', Infinity)).rejects.toThrow('expected a finite number to add');
      expect(await storage.get('n')).toBeUndefined();
    });

    it('keys and values have a maximum size', async () => {
      await storage.set('k'.repeat(512), 'x'.repeat(999_998));
      await expect(storage.set('k'.repeat(513), 1)).rejects.toThrow('a key of at most 512 characters, got: 513');
      await expect(storage.get('')).rejects.toThrow('expected a key, got an empty text');
      await expect(storage.set('k', 'x'.repeat(999_999))).rejects.toThrow(
        'expected a value of at most 1000000 bytes of JSON for "k", got: 1000001',
      );
      await expect(storage.set('k', 'ü'.repeat(500_000))).rejects.toThrow('got: 1000002');
      expect(await storage.get('k')).toBeUndefined();
    });
  });
}
