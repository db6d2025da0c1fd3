import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogLine } from '../../../src/plugins/sandbox/sandbox.ts';
import {
  createPluginLogs,
  listLogs,
  linesPerConfigMax,
  type LogFilter,
  type PluginLogs,
} from '../../../src/plugins/services/plugin-logs.ts';
import { addOwnMetrics, hourOf } from '../../../src/plugins/services/own-metrics.ts';
import { createStorage } from '../../../src/plugins/services/storage.ts';
import { addConfigs, type OpenStore, type ServicesStore } from '../../support/plugin-store.ts';

const start = Date.parse('2026-11-20T10:00:00.000Z');
const day = 86_400_000;
const of = { projectId: 1, configId: 7 };

/** The promises of plugin logs on every metadata store. */
export function testLogs(open: OpenStore): void {
  describe('logs', () => {
    let store: ServicesStore;
    let logs: PluginLogs;
    let now: number;
    const warnings: string[] = [];
    const log = { warn: (_about: object, message: string) => void warnings.push(message) };

    beforeEach(async () => {
      now = start;
      warnings.length = 0;
      store = await open();
      logs = createPluginLogs(store.db, { days: 7, clock: { now: () => now }, log });
    });
    afterEach(async () => {
      await logs.close();
      await store[Symbol.asyncDispose]();
    });

    const line = (message: string, more: Partial<LogLine> = {}): LogLine => {
      return { time: now, level: 'INFO', source: 'CONSOLE', message, instanceId: 'i', ...more };
    };
    const add = (message: string, more: Partial<LogLine> = {}): void => logs.add(7, 1, line(message, more));
    const messages = async (filter: Partial<LogFilter> = {}): Promise<string[]> => {
      await logs.flush();
      return (await listLogs(store.db, of, { limit: 100, ...filter })).map(({ message }) => message);
    };

    it('lines are listed newest first, within one millisecond too, and of this config alone', async () => {
      for (let index = 0; index < 50; index += 1) add(`m${index}`);
      logs.add(8, 1, line('other config'));
      logs.add(9, 2, line('other project'));
      expect(await messages()).toEqual(Array.from({ length: 50 }, (_, index) => `m${49 - index}`));
      expect(await listLogs(store.db, { projectId: 2, configId: 7 }, { limit: 10 })).toEqual([]);
      const [first] = await listLogs(store.db, of, { limit: 1 });
      expect(first).toMatchObject({ created_at: '2026-11-20T10:00:00.000000Z', level: 'INFO', instance_id: 'i' });
    });

    it('pages have no gap or repetition while lines arrive', async () => {
      for (let index = 0; index < 25; index += 1) {
        now += index % 3;
        add(`m${index}`);
      }
      await logs.flush();
      const seen: string[] = [];
      let before: string | undefined;
      for (let page = 0; page < 4; page += 1) {
        const rows = await listLogs(store.db, of, { limit: 10, ...(before === undefined ? {} : { before }) });
        seen.push(...rows.map(({ message }) => message));
        before = rows.at(-1)?.id ?? before;
        now += 1;
        add('new');
        await logs.flush();
      }
      expect(seen).toEqual(Array.from({ length: 25 }, (_, index) => `m${24 - index}`));
    });

    it('filters: level, source, time and part of the message', async () => {
      add('Straße 100%', { level: 'WARN' });
      now += 1000;
      add('strasse_1', { source: 'SYSTEM' });
      now += 1000;
      add(String.raw`back\slash`, { level: 'ERROR', source: 'PLUGIN' });
      expect(await messages({ levels: ['WARN', 'ERROR'] })).toEqual([String.raw`back\slash`, 'Straße 100%']);
      expect(await messages({ levels: [], sources: ['SYSTEM'] })).toEqual(['strasse_1']);
      expect(await messages({ before: start + 1000 })).toEqual(['Straße 100%']);
      expect(await messages({ after: start + 1000 })).toEqual([String.raw`back\slash`, 'strasse_1']);
      for (const [search, count] of [
        ['STRASSE', 1],
        ['Straße', 1],
        ['stra', 2],
        ['%', 1],
        ['_', 1],
        ['\\', 1],
        ['', 3],
        ["'; drop table plugin_logs; --", 0],
      ] as const) {
        expect([search, (await messages({ search })).length]).toEqual([search, count]);
      }
    });

    it('secrets are removed, long lines truncated, and characters that stores refuse replaced', async () => {
      logs.add(7, 1, line(`key=s3cret ${'x'.repeat(10_000)}`), (text) => text.replaceAll('s3cret', '***'));
      add('a\u0000b\ud800');
      const [unusual, long] = await messages();
      expect(unusual).toBe('a\ufffdb\ufffd');
      expect(long).toHaveLength(8192);
      expect(long?.startsWith('key=*** xxx')).toBe(true);
    });

    it('a line with an impossible time gets the present time', async () => {
      for (const time of [Number.NaN, 0, start + day, Infinity]) add('x', { time });
      await logs.flush();
      const rows = await listLogs(store.db, of, { limit: 10 });
      expect(rows.map((row) => row.created_at)).toEqual(Array(4).fill('2026-11-20T10:00:00.000000Z'));
    });

    it('beyond a thousand lines per minute one line reports how many were dropped; other configs are unaffected', async () => {
      for (let index = 0; index < 1250; index += 1) add('flood');
      logs.add(8, 1, line('quiet'));
      now += 60_000;
      add('after');
      expect((await messages({ limit: 2000 })).slice(0, 3)).toEqual([
        'after',
        '250 lines were dropped: expected at most 1000 per minute',
        'flood',
      ]);
      expect((await messages({ search: 'flood', limit: 2000 })).length).toBe(1000);
      expect(await listLogs(store.db, { projectId: 1, configId: 8 }, { limit: 10 })).toHaveLength(1);
    });

    it('close writes the buffered lines and reports the dropped ones', async () => {
      for (let index = 0; index < 1001; index += 1) add('flood');
      await logs.close();
      expect((await listLogs(store.db, of, { limit: 1 }))[0]?.message).toContain('1 lines were dropped');
      add('too late');
      expect((await listLogs(store.db, of, { limit: 2000 })).length).toBe(1001);
    });

    it('old lines are removed, and all but the newest ten thousand of a config', async () => {
      const rows = Array.from({ length: linesPerConfigMax + 300 }, (_, index) => index);
      now = start - 2 * day;
      for (const index of rows) {
        if (index % 900 === 0) now += 60_000;
        add(`m${index}`);
        if (index % 400 === 0) await logs.flush();
      }
      logs.add(8, 1, line('kept'));
      await logs.flush();
      now = start;
      await logs.prune();
      const kept = await listLogs(store.db, of, { limit: 20_000 });
      expect([kept.length, kept[0]?.message, kept.at(-1)?.message]).toEqual([linesPerConfigMax, 'm10299', 'm300']);
      now = start + 6 * day;
      await logs.prune();
      expect(await messages()).toEqual([]);
    });

    it('lines written after their config was deleted are removed, those of others stay', async () => {
      const { projectId, configIds } = await addConfigs(store.db, 1);
      const [living = 0] = configIds;
      for (const configId of [living, living + 1000]) {
        const storage = createStorage(store.db, { configId, projectId });
        await storage.set('a', 1);
        await storage.set('b', 1);
        await addOwnMetrics(store.db, [{ configId, projectId, hour: hourOf(now), name: 'n', kind: 'sum', value: 1 }]);
      }
      await logs.prune();
      const kept = await store.db.selectFrom('plugin_storage').select(['config_id', 'key']).orderBy('key').execute();
      expect(kept).toEqual(['a', 'b'].map((key) => ({ config_id: living, key })));
      const metrics = await store.db.selectFrom('plugin_own_metrics').select('config_id').execute();
      expect(metrics).toEqual([{ config_id: living }]);
    });

    it('lines survive a failing store and are written when it recovers', async () => {
      await store.db.schema.alterTable('plugin_logs').renameTo('gone').execute();
      add('kept');
      await logs.flush();
      await logs.flush();
      expect(warnings).toEqual(['failed to write log lines of plugins; they are kept and retried']);
      await store.db.schema.alterTable('gone').renameTo('plugin_logs').execute();
      expect(await messages()).toEqual(['kept']);
    });
  });
}
