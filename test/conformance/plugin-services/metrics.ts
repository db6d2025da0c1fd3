import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listConfigMetrics } from '../../../src/plugins/services/config-metrics.ts';
import {
  addOwnMetrics,
  createOwnMetrics,
  hourOf,
  listOwnMetrics,
  namesMax,
  type OwnMetric,
} from '../../../src/plugins/services/own-metrics.ts';
import { addConfigs, type OpenStore, type ServicesStore } from '../../support/plugin-store.ts';

const start = Date.parse('2026-11-20T22:00:00.000Z');
const hour = 3_600_000;
const day = 24 * hour;

/** The promises of config metrics on every metadata store. */
export function testMetrics(open: OpenStore): void {
  let store: ServicesStore;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  describe('metrics of a config', () => {
    let of: { projectId: number; configId: number };
    beforeEach(async () => {
      const { projectId, configIds } = await addConfigs(store.db, 2);
      of = { projectId, configId: configIds[0] ?? 0 };
      const rows = [-1, 0, 1, 3, 27].flatMap((hours) =>
        configIds.map((config_id) => {
          const key = { config_id, project_id: projectId, hour: hourOf(start + hours * hour) };
          return Object.assign(key, { succeeded: 10, failed: 1, dropped: 2, skipped: 3, micros: 4_000_000_000_000 });
        }),
      );
      await store.db.insertInto('plugin_metrics').values(rows).execute();
    });

    it('are returned by hour, with zeros where nothing passed', async () => {
      const range = { from: start + 1, to: start + 4 * hour, interval: 'hour' } as const;
      const { points, totals } = await listConfigMetrics(store.db, { ...of, ...range });
      expect(points.map((point) => [point.start, point.succeeded, point.failed, point.dropped, point.skipped])).toEqual(
        [
          ['2026-11-20T22:00:00.000000Z', 10, 1, 2, 3],
          ['2026-11-20T23:00:00.000000Z', 10, 1, 2, 3],
          ['2026-11-21T00:00:00.000000Z', 0, 0, 0, 0],
          ['2026-11-21T01:00:00.000000Z', 10, 1, 2, 3],
        ],
      );
      expect(totals).toEqual({ succeeded: 30, failed: 3, dropped: 6, skipped: 9, micros: 12_000_000_000_000 });
    });

    it('are returned by UTC day, and the points add up to the totals', async () => {
      const range = { from: start, to: start + 2 * day, interval: 'day' } as const;
      const { points, totals } = await listConfigMetrics(store.db, { ...of, ...range });
      expect(points.map((point) => [point.start.slice(0, 10), point.succeeded])).toEqual([
        ['2026-11-20', 30],
        ['2026-11-21', 10],
        ['2026-11-22', 10],
      ]);
      expect(totals.succeeded).toBe(50);
    });

    it('of another project, an empty range and a range that is too long', async () => {
      const range = { from: start, to: start + hour, interval: 'hour' } as const;
      const foreign = await listConfigMetrics(store.db, { ...of, projectId: of.projectId + 1, ...range });
      expect(foreign.totals.succeeded).toBe(0);
      expect((await listConfigMetrics(store.db, { ...of, ...range, to: start - day })).points).toEqual([]);
      await expect(listConfigMetrics(store.db, { ...of, ...range, from: 0 })).rejects.toThrow(RangeError);
      await expect(listConfigMetrics(store.db, { ...of, ...range, from: Number.NaN })).rejects.toThrow(RangeError);
    });
  });

  describe('metrics defined by a plugin', () => {
    const of = { projectId: 1, configId: 7 };
    const metric = (name: string, kind: OwnMetric['kind'], value: number, at = start): OwnMetric => {
      return { ...of, hour: hourOf(at), name, kind, value };
    };
    const list = async () => {
      const found = await listOwnMetrics(store.db, { ...of, from: start, to: start + day });
      return found.map(({ name, kind, hour: at, value }) => [name, kind, at.slice(11, 13), value]);
    };

    it('are summed, or the minimum or maximum is kept, by hour', async () => {
      const values = [5, -2, 7.5];
      const metrics = values.flatMap((value) => [
        metric('sum', 'sum', value),
        metric('min', 'min', value),
        metric('max', 'max', value),
      ]);
      await addOwnMetrics(store.db, metrics);
      for (const each of metrics) await addOwnMetrics(store.db, [each]);
      await addOwnMetrics(store.db, [metric('sum', 'sum', 1, start + hour), metric('sum', 'sum', 1, start - hour)]);
      await addOwnMetrics(store.db, []);
      expect(await list()).toEqual([
        ['max', 'max', '22', 7.5],
        ['min', 'min', '22', -2],
        ['sum', 'sum', '22', 21],
        ['sum', 'sum', '23', 1],
      ]);
    });

    it('start from scratch when the plugin declares another kind', async () => {
      await addOwnMetrics(store.db, [metric('x', 'sum', 100)]);
      await addOwnMetrics(store.db, [metric('x', 'min', 3)]);
      await addOwnMetrics(store.db, [metric('x', 'max', 5), metric('x', 'min', 4)]);
      expect(await list()).toEqual([['x', 'min', '22', 3]]);
    });

    it('are written soon by the writer; non-numbers and names beyond the limit are dropped', async () => {
      const warn = (): void => undefined;
      const writer = createOwnMetrics(store.db, { clock: { now: () => start + 1 }, log: { warn } });
      for (let index = 0; index < 1000; index += 1) writer.add(7, 1, { name: 'n', kind: 'sum', value: 1 });
      for (const value of [Number.NaN, Infinity]) writer.add(7, 1, { name: 'n', kind: 'sum', value });
      for (let index = 0; index < 200; index += 1) writer.add(7, 1, { name: `x${index}`, kind: 'max', value: 1 });
      writer.add(7, 1, { name: 'n', kind: 'sum', value: 1 });
      await writer.close();
      const found = await list();
      expect(found).toHaveLength(namesMax);
      expect(found[0]).toEqual(['n', 'sum', '22', 1001]);
    });

    it('of two concurrent processes all count', async () => {
      const both = [store.db, store.other].flatMap((db) =>
        Array.from({ length: 10 }, () => addOwnMetrics(db, [metric('b', 'sum', 1), metric('a', 'sum', 1)])),
      );
      await Promise.all(both);
      expect(await list()).toEqual([
        ['a', 'sum', '22', 20],
        ['b', 'sum', '22', 20],
      ]);
    });
  });
}
