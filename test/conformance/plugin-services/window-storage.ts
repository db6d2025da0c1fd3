import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { PluginStorage } from '../../../src/plugins/host.ts';
import type { JsonValue } from '../../../src/base/json.ts';
import { whileThere } from '../../support/slot-world.ts';
import { createStorage } from '../../../src/plugins/services/storage.ts';
import { addConfigs, type OpenStore, type ServicesStore } from '../../support/plugin-store.ts';
import { WindowStorage } from '../../../src/plugins/services/window-storage.ts';
import { writeStorageChanges, type StorageChanges } from '../../../src/plugins/services/storage-changes.ts';

type Act =
  | { readonly kind: 'get' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'set'; readonly value: JsonValue }
  | { readonly kind: 'increment'; readonly by: number };
interface Work {
  readonly config: number;
  readonly key: string;
  readonly act: Act;
}

const arbitraryAct: fc.Arbitrary<Act> = fc.oneof(
  fc.constant<Act>({ kind: 'get' }),
  fc.constant<Act>({ kind: 'delete' }),
  fc.constantFrom<JsonValue>(0, 5, 0.1, null, 'x', [1]).map((value): Act => ({ kind: 'set', value })),
  fc.constantFrom(1, -2, 0.2).map((by): Act => ({ kind: 'increment', by })),
);
const arbitraryWork: fc.Arbitrary<Work> = fc.record({
  config: fc.nat(1),
  key: fc.constantFrom('a', 'b', 'c'),
  act: arbitraryAct,
});

/** What happens after a window was computed. */
type Fate = 'stored' | 'fails' | 'process ends after commit' | 'stored late';
const arbitraryWindow = fc.record({
  works: fc.array(arbitraryWork, { maxLength: 8 }),
  fate: fc.constantFrom<Fate>('stored', 'stored late', 'fails', 'process ends after commit'),
});

async function run(storage: PluginStorage, { key, act }: Work): Promise<unknown> {
  if (act.kind === 'get') return storage.get(key);
  if (act.kind === 'delete') return storage.delete(key);
  if (act.kind === 'set') return storage.set(key, act.value);
  // An error because a value is not a number is a regular result.
  return storage.increment(key, act.by).catch((error: unknown) => String(error));
}

/** The promises of the storage of transformations on every metadata store. */
export function testWindowStorage(open: OpenStore): void {
  describe('storage in windows', () => {
    let store: ServicesStore;
    let projectId: number;
    let configIds: number[];
    let windows: WindowStorage;
    beforeEach(async () => {
      store = await open();
      ({ projectId, configIds } = await addConfigs(store.db, 2));
      windows = new WindowStorage(store.db);
    });
    afterEach(() => store[Symbol.asyncDispose]());

    const config = (index: number): number => configIds[index] ?? 0;
    const of = (index = 0, storage = windows): PluginStorage => storage.of(config(index), projectId);
    const direct = (index = 0): PluginStorage => createStorage(store.other, { configId: config(index), projectId });
    const write = (changes: StorageChanges): Promise<void> =>
      store.db.transaction().execute((tx) => writeStorageChanges(tx, changes));
    const commit = async (changes: StorageChanges): Promise<void> => {
      await write(changes);
      windows.committed(changes);
    };
    const rows = () =>
      store.db
        .selectFrom('plugin_storage')
        .select(['config_id', 'key', 'value'])
        .orderBy('config_id')
        .orderBy('key')
        .execute();

    it('any order of windows, failures and replays has the result of sequential events', async () => {
      const property = fc.asyncProperty(fc.array(arbitraryWindow, { maxLength: 6 }), async (plan) => {
        await store.db.deleteFrom('plugin_storage').execute();
        const expected = await sequentially(plan.flatMap(({ works }) => works));
        const got = await inWindows(plan);
        expect(got).toEqual(expected.results);
        expect(await rows()).toEqual(expected.rows);
      });
      await fc.assert(property, { numRuns: 30 });
    });

    it('an event that is lost midway and processed again has the result of one pass', async () => {
      const lost = fc.record({
        works: fc.array(arbitraryWork, { maxLength: 6 }),
        doneBeforeLost: fc.array(fc.nat(6), { maxLength: 2 }),
      });
      const property = fc.asyncProperty(fc.array(fc.array(lost, { maxLength: 4 }), { maxLength: 4 }), async (plan) => {
        await store.db.deleteFrom('plugin_storage').execute();
        const expected = await sequentially(plan.flat().flatMap(({ works }) => works));
        const storage = new WindowStorage(store.db);
        const storages = configIds.map((id) => storage.of(id, projectId));
        for (const events of plan) {
          for (const event of events) {
            const ofEvent = storages.map((each) => each.forEvent?.(event) ?? each);
            const work = async (count: number): Promise<void> => {
              for (const each of event.works.slice(0, count)) await run(ofEvent[each.config] ?? of(), each);
            };
            for (const done of event.doneBeforeLost) {
              await work(done);
              for (const each of storages) each.takeBack?.(event);
            }
            await work(event.works.length);
          }
          const changes = storage.takeChanges();
          await write(changes);
          storage.committed(changes);
        }
        expect(await rows()).toEqual(expected.rows);
      });
      await fc.assert(property, { numRuns: 50 });
    });

    it('an undo subtracts what was added to a sum since, and keeps another value', async () => {
      const [first, second] = [{}, {}];
      const storage = of();
      await storage.forEvent?.(first).increment('sum', 5);
      await storage.forEvent?.(first).set('text', 'a');
      await storage.forEvent?.(second).increment('sum', 2);
      await storage.forEvent?.(second).set('text', 'b');
      storage.takeBack?.(first);
      expect([await storage.get('sum'), await storage.get('text')]).toEqual([2, 'b']);
      storage.takeBack?.(first);
      storage.takeBack?.(second);
      await commit(windows.takeChanges());
      expect([await direct().get('sum'), await direct().get('text')]).toEqual([0, 'a']);
    });

    /** Runs the works in sequence, each written immediately, and leaves the store empty. */
    async function sequentially(works: readonly Work[]) {
      const results: unknown[] = [];
      for (const work of works) results.push(await run(direct(work.config), work));
      const written = await rows();
      await store.db.deleteFrom('plugin_storage').execute();
      return { results, rows: written };
    }

    /** Returns the last results of each work. As in the pipeline, one window is stored while the next is computed. */
    async function inWindows(plan: readonly { readonly works: readonly Work[]; readonly fate: Fate }[]) {
      let storage = new WindowStorage(store.db);
      const results: unknown[][] = plan.map(() => []);
      const failed = new Set<number>();
      let pending: { readonly index: number; readonly changes: StorageChanges } | undefined;
      const storePrevious = async (): Promise<void> => {
        if (pending === undefined) return;
        await write(pending.changes);
        storage.committed(pending.changes);
        pending = undefined;
      };
      for (let index = 0; index < plan.length; index += 1) {
        const { works, fate } = plan[index] ?? { works: [], fate: 'stored' as const };
        const computed: unknown[] = [];
        for (const work of works) computed.push(await run(of(work.config, storage), work));
        results[index] = computed;
        const changes = storage.takeChanges();
        if (fate === 'fails' && !failed.has(index)) {
          // Neither this window nor the one in progress is stored, and both are repeated.
          failed.add(index);
          storage.reset();
          index = (pending?.index ?? index) - 1;
          pending = undefined;
          continue;
        }
        await storePrevious();
        pending = { index, changes };
        if (fate === 'stored') await storePrevious();
        if (fate === 'process ends after commit') {
          await write(changes);
          storage = new WindowStorage(store.db);
          pending = undefined;
        }
      }
      await storePrevious();
      return results.flat();
    }

    it('a window sees the values of the previous one while they are being stored', async () => {
      await of().set('k', { n: 1 });
      const first = windows.takeChanges();
      expect(await of().get('k')).toEqual({ n: 1 });
      expect(await direct().get('k')).toBeUndefined();
      await of().set('k', { n: 2 });
      await commit(first);
      expect([await direct().get('k'), await of().get('k')]).toEqual([{ n: 1 }, { n: 2 }]);
      await commit(windows.takeChanges());
      expect(await direct().get('k')).toEqual({ n: 2 });
    });

    it('a value that was read is a copy', async () => {
      await of().set('k', { list: [1] });
      const read = await of().get('k');
      Object.assign(read as object, { list: 'changed' });
      expect(await of().get('k')).toEqual({ list: [1] });
    });

    it('many keys are read from memory and store together', async () => {
      await direct().set('stored', 1);
      await direct().set('gone', 1);
      await direct().set('changed', 1);
      await of().set('changed', 2);
      await of().delete('gone');
      await of().set('new', null);
      const found = await of().getMany(['stored', 'gone', 'changed', 'new', 'never', 'new']);
      expect([...found]).toEqual([
        ['stored', 1],
        ['changed', 2],
        ['new', null],
      ]);
    });

    it('concurrent increments all count, also while windows are committed', async () => {
      await direct().set('n', 100);
      const sums = Array.from({ length: 30 }, () => of().increment('n', 1));
      const other = of().set('other', 1);
      await other;
      await commit(windows.takeChanges());
      await Promise.all(sums);
      expect((await Promise.all(sums)).sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => 101 + n));
      await commit(windows.takeChanges());
      expect(await direct().get('n')).toBe(130);
    });

    it('a window with a failed read is abandoned, even if the plugin catches the error', async () => {
      let isThere = false;
      windows = new WindowStorage(whileThere(store.db, () => isThere));
      await of().set('written', 1);
      await expect(of().get('k')).rejects.toThrow('the database is away');
      isThere = true;
      expect(await of(1).get('k')).toBeUndefined();
      expect(() => windows.takeChanges()).toThrow('storage: the store could not be read');
      windows.reset();
      expect(await of().get('k')).toBeUndefined();
      expect(windows.takeChanges().rows).toEqual([]);
    });

    it('a value stored during a read is not missed', async () => {
      await direct().set('n', 1);
      const gate = Promise.withResolvers<void>();
      const transformResult = async <Result>({ result }: { readonly result: Result }): Promise<Result> => {
        await gate.promise;
        return result;
      };
      windows = new WindowStorage(store.db.withPlugin({ transformQuery: ({ node }) => node, transformResult }));
      const sum = of().increment('n', 1);
      // Let the query answer before the next write is stored.
      await store.db.selectFrom('plugin_storage').select('key').execute();
      await of().set('n', 50);
      await commit(windows.takeChanges());
      gate.resolve();
      expect(await sum).toBe(51);
    });

    it('an addition by a job between read and store counts as well', async () => {
      await direct().set('n', 1);
      await of().increment('n', 10);
      await of().increment('new', 1);
      await direct().increment('n', 100);
      await direct().increment('new', 5);
      const first = windows.takeChanges();
      await of().increment('n', 1000);
      await commit(first);
      expect([await direct().get('n'), await direct().get('new')]).toEqual([111, 6]);
      await commit(windows.takeChanges());
      expect(await direct().get('n')).toBe(1111);
    });

    it('adding gives the same floats as sequential additions', async () => {
      let sum = 0;
      for (const by of [0.1, 0.2, 0.3, 1e-9]) {
        sum += by;
        await of().increment('n', by);
      }
      await commit(windows.takeChanges());
      expect(await direct().get('n')).toBe(sum);
    });

    it('a config deleted in the meantime is skipped, the others are stored', async () => {
      await of(0).set('k', 1);
      await of(0).increment('n', 1);
      await of(1).set('k', 2);
      const changes = windows.takeChanges();
      await store.db.deleteFrom('plugin_configs').where('id', '=', config(0)).execute();
      await commit(changes);
      expect(await rows()).toEqual([{ config_id: config(1), key: 'k', value: '2' }]);
    });

    it('reset drops unstored values, and calls in progress fail instead of writing late', async () => {
      await direct().set('n', 1);
      await of().set('k', 1);
      const late = of().increment('n', 1);
      windows.reset();
      await expect(late).rejects.toThrow('the window was abandoned');
      expect(await of().get('k')).toBeUndefined();
      expect(windows.takeChanges().rows).toEqual([]);
    });

    it('changes taken before a reset clear nothing written after it', async () => {
      await of().set('k', 'old');
      const old = windows.takeChanges();
      windows.reset();
      await of().set('k', 'new');
      windows.committed(old);
      expect(await of().get('k')).toBe('new');
    });

    it('thousands of keys fit into one window', async () => {
      for (let index = 0; index < 3000; index += 1) {
        if (index % 3 === 0) await of().set(`k${index}`, index);
        else if (index % 3 === 1) await of().delete(`k${index}`);
      }
      for (let index = 0; index < 600; index += 1) await of().set(`n${index}`, 1);
      await commit(windows.takeChanges());
      const counters = Array.from({ length: 600 }, (_, index) => of().increment(`n${index}`, index));
      await Promise.all(counters);
      await commit(windows.takeChanges());
      expect((await rows()).length).toBe(1600);
      expect(await direct().get('n599')).toBe(600);
    });

    it('one config cannot fill the memory between two windows', async () => {
      const value = 'x'.repeat(999_000);
      const fill = async (): Promise<void> => {
        for (let index = 0; index < 70; index += 1) await of().set(`k${index}`, value);
      };
      await expect(fill()).rejects.toThrow('expected at most 64000000 unstored characters');
      windows.reset();
      await of(1).set('k', value);
    });
  });
}
