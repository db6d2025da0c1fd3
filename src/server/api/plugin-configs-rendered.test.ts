import { describe, expect, it } from 'vitest';
import { hourMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import { pluginFamilies } from '../../wire/contract/plugins.ts';
import { setConfigError } from '../../plugins/configs/set-config-error.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';

describe.each(pluginFamilies)('a cached response about %s configs is rebuilt when', (family) => {
  const read = async (own: ConfigsApp, id: number) => {
    const bodyOf = async (path: string) => (await own.call('GET', family, path)).body;
    const [one, list, again] = [await bodyOf(`/${id}/`), await bodyOf('/'), await bodyOf('/')];
    expect(again).toEqual(list);
    expect(one).toEqual((list['results'] as { id: number }[]).find((record) => record.id === id));
    return { one, list };
  };

  it('its config, or another of the list, is changed', async () => {
    await using own = await startConfigsApp();
    const id = await own.create(family, { name: 'First' });
    const { one, list } = await read(own, id);
    expect(one).toMatchObject({ name: 'First' });
    const other = await own.create(family, { name: 'Second' });
    expect((await read(own, id)).list['count']).toBe(Number(list['count']) + 1);
    await own.call('PATCH', family, `/${id}/`, { name: 'Renamed' });
    expect((await read(own, id)).one).toMatchObject({ name: 'Renamed' });
    await own.call('DELETE', family, `/${other}/`);
    expect((await read(own, id)).list['count']).toBe(list['count']);
    await own.call('DELETE', family, `/${id}/`);
    expect((await own.call('GET', family, `/${id}/`)).status).toBe(404);
  });

  it('a run of it fails or recovers, and when events pass or an hour of them is over', async () => {
    await using own = await startConfigsApp();
    const { db, clock } = own.app;
    const id = await own.create(family, { enabled: true });
    await own.call('PATCH', family, `/${id}/settings/`, { bucket: 'b' });
    expect((await read(own, id)).one).toMatchObject({ error: '', delivery_rate_24h: '' });
    for (const error of ['It fails.', 'It fails otherwise.', '']) {
      await db.transaction().execute((tx) => setConfigError(tx, id, { error, source: 'chain' }, clock.now()));
      expect((await read(own, id)).one).toMatchObject({ error });
    }
    const counted = { config_id: id, project_id: own.app.project.id, dropped: 0, skipped: 0, micros: 0 };
    const hours = [
      { ...counted, hour: isoMicros(clock.now() - 23 * hourMs), succeeded: 0, failed: 3 },
      { ...counted, hour: isoMicros(clock.now()), succeeded: 1, failed: 0 },
    ];
    for (const [index, rate] of ['0', '0.25'].entries()) {
      await db
        .insertInto('plugin_metrics')
        .values(hours.slice(index, index + 1))
        .execute();
      expect((await read(own, id)).one).toMatchObject({ delivery_rate_24h: rate });
    }
    clock.advance(2 * hourMs);
    expect((await read(own, id)).one).toMatchObject({ delivery_rate_24h: '1' });
  });
});
