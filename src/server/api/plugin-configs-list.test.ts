import { describe, expect, it } from 'vitest';
import { pluginFamilies } from '../../wire/contract/plugins.ts';
import { recordKeys, startConfigsApp } from '../../../test/support/configs-app.ts';

describe.each(pluginFamilies)('list of %s configs', (family) => {
  it('pages by order, then id, with absolute links', async () => {
    await using own = await startConfigsApp();
    const last = await own.create(family, { order: 5 });
    const first = await own.create(family, { order: -1 });
    const tied = await own.create(family, { order: 5 });
    const page = (query: string) => own.call('GET', family, `/${query}`);
    const ids = (body: Readonly<Record<string, unknown>>) => (body['results'] as { id: number }[]).map(({ id }) => id);
    const all = (await page('')).body;
    expect(ids(all)).toEqual([first, last, tied]);
    expect(all).toMatchObject({ count: 3, next: null, previous: null });
    for (const record of all['results'] as object[]) expect(Object.keys(record)).toEqual(recordKeys);
    const { body } = await page('?limit=1&offset=1');
    expect(ids(body)).toEqual([last]);
    expect(body['next']).toMatch(/^https?:\/\/.*\?limit=1&offset=2$/);
    expect(body['previous']).toMatch(/\?limit=1$/);
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?offset=-1']) {
      expect((await page(query)).status).toBe(400);
    }
  });

  it('finds by text, by what is switched on, by what is wrong, by plugin, and looks into the bin', async () => {
    await using own = await startConfigsApp();
    const plain = await own.create(family, { name: 'Grün und leise' });
    const running = await own.create(family, { enabled: true, description: 'Nightly' });
    await own.call('PATCH', family, `/${running}/settings/`, { bucket: 'b' });
    const binned = await own.create(family, { name: 'Old one', enabled: true });
    await own.call('PATCH', family, `/${binned}/`, { deleted: true });
    const find = async (query: string) => {
      const { body } = await own.call('GET', family, `/${query}`);
      return [body['count'], (body['results'] as { id: number }[]).map(({ id }) => id)];
    };
    expect(await find('')).toEqual([2, [plain, running]]);
    expect(await find('?search=GRÜN')).toEqual([1, [plain]]);
    expect(await find('?search=nightly&enabled=true')).toEqual([1, [running]]);
    expect(await find('?search=test-')).toEqual([2, [plain, running]]);
    expect(await find('?search=test-&limit=1&offset=1')).toEqual([2, [running]]);
    expect(await find('?failing=true')).toEqual([1, [plain]]);
    expect(await find('?failing=false')).toEqual([1, [running]]);
    expect(await find('?enabled=false')).toEqual([1, [plain]]);
    expect(await find(`?plugin=${own.pluginOf(family)}`)).toEqual([2, [plain, running]]);
    expect(await find('?plugin=99999999999')).toEqual([0, []]);
    expect(await find('?deleted=true')).toEqual([1, [binned]]);
    expect(await find('?deleted=true&search=nightly')).toEqual([0, []]);
    const { body } = await own.call('PATCH', family, `/${binned}/`, { deleted: false });
    expect(body).toMatchObject({ deleted: false, enabled: false });
    expect(await find('?deleted=true')).toEqual([0, []]);
  });

  it('of a project without configs is empty', async () => {
    await using own = await startConfigsApp();
    const { body } = await own.call('GET', family, '');
    expect(body).toEqual({ count: 0, next: null, previous: null, results: [] });
  });
});

describe('change of plugin', () => {
  it('keeps the settings that the new schema has, and shows no secret under a field that is not secret', async () => {
    await using own = await startConfigsApp();
    const id = await own.create('transformation');
    const values = { bucket: 'kept', token: 'secret-token-1', region: 'us', table: { a: 1 } };
    await own.call('PUT', 'transformation', `/${id}/settings/`, values);
    const schema = [
      { key: 'bucket', name: 'Bucket', type: 'string' },
      { key: 'token', name: 'No secret here', type: 'string' },
      { key: 'region', name: 'Region', type: 'choice', choices: ['north'] },
    ];
    const { db } = own.app;
    const old = await db
      .selectFrom('plugins')
      .selectAll()
      .where('id', '=', own.pluginOf('transformation'))
      .executeTakeFirstOrThrow();
    const { id: _, ...columns } = old;
    const row = { ...columns, slug: 'other', config_schema: JSON.stringify(schema) };
    const { id: plugin } = await db.insertInto('plugins').values(row).returning('id').executeTakeFirstOrThrow();
    const answer = await own.call('PATCH', 'transformation', `/${id}/`, { plugin });
    expect(answer.body).toMatchObject({ plugin, config: '{"bucket":"kept"}' });
    const log = JSON.stringify(await own.activity(id));
    expect(log).not.toContain('secret-token-1');
    const wrong = await own.call('PATCH', 'transformation', `/${id}/`, {
      plugin: own.pluginOf('import-app'),
    });
    expect(wrong.body).toMatchObject({ code: 'invalid_input', attr: 'plugin' });
  });
});
