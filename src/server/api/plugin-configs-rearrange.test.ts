import { array, assert, asyncProperty, integer, nat, record } from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pluginFamilies, type Family } from '../../wire/contract/plugins.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';

let configs: ConfigsApp;
beforeAll(async () => {
  configs = await startConfigsApp();
});
afterEach(() => configs.app.db.deleteFrom('plugin_configs').execute());
afterAll(() => configs[Symbol.asyncDispose]());

async function listed(family: Family): Promise<{ id: number; order: number }[]> {
  const { body } = await configs.call('GET', family, '/?limit=1000');
  return (body['results'] as { id: number; order: number }[]).map(({ id, order }) => ({ id, order }));
}

async function createMany(family: Family, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let made = 0; made < count; made++) ids.push(await configs.create(family));
  return ids;
}

describe.each(pluginFamilies)('rearrange %s configs', (family) => {
  const rearrange = (payload: object | string) => configs.call('PATCH', family, '/rearrange', payload);

  it.each([
    [0, [2, 0, 1, 3]],
    [1, [0, 2, 1, 3]],
    [2, [0, 1, 2, 3]],
    [3, [0, 1, 3, 2]],
    [99, [0, 1, 3, 2]],
    [-5, [2, 0, 1, 3]],
  ])('moves the third of four to position %i, or as near as there is', async (order, expected) => {
    const ids = await createMany(family, 4);
    const answer = await rearrange({ id: ids[2], order });
    const after = await listed(family);
    expect(after.map(({ id }) => ids.indexOf(id))).toEqual(expected);
    expect(after.map((record) => record.order)).toEqual([0, 1, 2, 3]);
    expect(answer.body).toMatchObject({ id: ids[2], order: expected.indexOf(2) });
  });

  it('makes 0..n-1 of any positions, and logs every config that moved and no other', async () => {
    const [a, b, c] = [
      await configs.create(family, { order: 0 }),
      await configs.create(family, { order: 5 }),
      await configs.create(family, { order: 5 }),
    ];
    await rearrange({ id: c, order: 1 });
    expect(await listed(family)).toEqual([
      { id: a, order: 0 },
      { id: c, order: 1 },
      { id: b, order: 2 },
    ]);
    expect(await configs.activity(a)).toHaveLength(1);
    for (const [id, before, after] of [
      [b, 5, 2],
      [c, 5, 1],
    ] as const) {
      const [newest] = await configs.activity(id);
      expect(newest).toMatchObject({ activity: 'order_changed' });
      expect(newest?.detail.changes).toEqual([{ field: 'order', action: 'changed', before, after }]);
    }
  });

  it('takes the published example, which names the plugin, and applies the other fields', async () => {
    const id = await configs.create(family, { order: 9 });
    const answer = await rearrange(`plugin=${configs.pluginOf(family)}&order=0&enabled=true&name=x`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, order: 0, enabled: true, name: 'x' });
  });

  it('several configs of the plugin: refused with their ids, nothing changes', async () => {
    const ids = await createMany(family, 2);
    const revision = await configs.revision();
    const answer = await rearrange({ plugin: configs.pluginOf(family), order: 0 });
    expect(answer.body).toMatchObject({ code: 'invalid_input', attr: 'plugin' });
    for (const id of ids) expect(answer.body['detail']).toContain(String(id));
    expect(await configs.revision()).toBe(revision);
  });

  it('sets many positions at once and answers with the first of them', async () => {
    const [a = 0, b = 0, c = 0, d = 0] = await createMany(family, 4);
    const answer = await rearrange({ orders: { [a]: 3, [d]: 0 } });
    expect(answer.body).toMatchObject({ id: d, order: 0 });
    expect((await listed(family)).map(({ id }) => id)).toEqual([d, b, c, a]);
    const asForm = await rearrange(`orders=${encodeURIComponent(JSON.stringify({ [a]: 0 }))}`);
    expect(asForm.body).toMatchObject({ id: a, order: 0 });
  });

  it.each([
    ['an unknown id', { id: 999_999, order: 0 }, 'does_not_exist', 'id'],
    ['an unknown plugin', { plugin: 999, order: 0 }, 'does_not_exist', 'plugin'],
    ['no config at all', { order: 0 }, 'required', 'id'],
    ['empty orders', { orders: {} }, 'required', 'orders'],
    ['orders that name an unknown id', { orders: { '999999': 0 } }, 'does_not_exist', 'orders'],
    ['orders that name no id', { orders: { constructor: 0 } }, 'does_not_exist', 'orders'],
    ['a position that is no number', { orders: { '1': 'x' } }, 'invalid_input', 'orders__1'],
  ])('refuses %s and changes nothing', async (_name, payload, code, attr) => {
    await createMany(family, 2);
    const revision = await configs.revision();
    const answer = await rearrange(payload);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code, attr });
    expect(await configs.revision()).toBe(revision);
  });

  it('configs in the bin and of the other family hold no place', async () => {
    const [a = 0, b = 0, c = 0] = await createMany(family, 3);
    const other = family === 'transformation' ? 'import-app' : 'transformation';
    const elsewhere = await configs.create(other, { order: 7 });
    await configs.call('PATCH', family, `/${b}/`, { deleted: true });
    await rearrange({ id: c, order: 0 });
    expect(await listed(family)).toEqual([
      { id: c, order: 0 },
      { id: a, order: 1 },
    ]);
    expect(await listed(other)).toEqual([{ id: elsewhere, order: 7 }]);
    const restored = await rearrange({ id: b, deleted: false, order: 1 });
    expect(restored.body).toMatchObject({ id: b, order: 1, deleted: false });
    expect((await listed(family)).map(({ id }) => id)).toEqual([c, b, a]);
  });

  it('many at the same time: the family stays 0..n-1', async () => {
    const ids = await createMany(family, 5);
    const moves = ids.flatMap((id, index) => [
      rearrange({ id, order: 4 - index }),
      rearrange({ orders: { [id]: 0 } }),
      configs.call('PATCH', family, `/${id}/`, { name: `n${index}` }),
    ]);
    for (const answer of await Promise.all(moves)) expect(answer.status).toBe(200);
    const after = await listed(family);
    expect(after.map(({ order }) => order)).toEqual([0, 1, 2, 3, 4]);
    expect(after.map(({ id }) => id).sort((x, y) => x - y)).toEqual(ids);
  });
});

describe('any sequence of moves', () => {
  it('does what taking out and putting in does on a list', async () => {
    const ids = await createMany('transformation', 5);
    let model = [...ids];
    const move = record({ index: nat({ max: 4 }), order: integer({ min: -2, max: 7 }) });
    await assert(
      asyncProperty(array(move, { maxLength: 4 }), async (moves) => {
        for (const { index, order } of moves) {
          const id = ids[index] ?? 0;
          await configs.call('PATCH', 'transformation', '/rearrange/', { id, order });
          model = model.filter((other) => other !== id);
          model.splice(Math.max(0, order), 0, id);
        }
        expect((await listed('transformation')).map(({ id }) => id)).toEqual(model);
      }),
      { numRuns: 15 },
    );
  });
});
