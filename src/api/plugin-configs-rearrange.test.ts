import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pluginFamilies, type Family } from '../contract/plugins.ts';
import { startConfigsApp, type ConfigsApp } from './test-configs-app.ts';

async function listed(configs: ConfigsApp, family: Family): Promise<{ id: number; order: number }[]> {
  const { body } = await configs.call('GET', family, '/?limit=1000');
  return (body['results'] as { id: number; order: number }[]).map(({ id, order }) => ({ id, order }));
}

async function createMany(configs: ConfigsApp, family: Family, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let made = 0; made < count; made++) ids.push(await configs.create(family));
  return ids;
}

describe.each(pluginFamilies)('rearrange %s configs', (family) => {
  const rearrange = (configs: ConfigsApp, payload: object | string) =>
    configs.call('PATCH', family, '/rearrange', payload);

  it.each([
    [0, [2, 0, 1, 3]],
    [1, [0, 2, 1, 3]],
    [2, [0, 1, 2, 3]],
    [3, [0, 1, 3, 2]],
    [99, [0, 1, 3, 2]],
    [-5, [2, 0, 1, 3]],
  ])('moves the third of four to position %i, or as near as there is', async (order, expected) => {
    await using configs = await startConfigsApp();
    const ids = await createMany(configs, family, 4);
    const answer = await rearrange(configs, { id: ids[2], order });
    const after = await listed(configs, family);
    expect(after.map(({ id }) => ids.indexOf(id))).toEqual(expected);
    expect(after.map((record) => record.order)).toEqual([0, 1, 2, 3]);
    expect(answer.body).toMatchObject({ id: ids[2], order: expected.indexOf(2) });
  });

  it('makes 0..n-1 of any positions, and logs every config that moved and no other', async () => {
    await using configs = await startConfigsApp();
    const [a, b, c] = [
      await configs.create(family, { order: 0 }),
      await configs.create(family, { order: 5 }),
      await configs.create(family, { order: 5 }),
    ];
    await rearrange(configs, { id: c, order: 1 });
    expect(await listed(configs, family)).toEqual([
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
    await using configs = await startConfigsApp();
    const id = await configs.create(family, { order: 9 });
    const answer = await rearrange(configs, `plugin=${configs.pluginOf(family)}&order=0&enabled=true&name=x`);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({ id, order: 0, enabled: true, name: 'x' });
  });

  it('several configs of the plugin: refused with their ids, nothing changes', async () => {
    await using configs = await startConfigsApp();
    const ids = await createMany(configs, family, 2);
    const revision = await configs.revision();
    const answer = await rearrange(configs, { plugin: configs.pluginOf(family), order: 0 });
    expect(answer.body).toMatchObject({ code: 'invalid_input', attr: 'plugin' });
    for (const id of ids) expect(answer.body['detail']).toContain(String(id));
    expect(await configs.revision()).toBe(revision);
  });

  it('sets many positions at once and answers with the first of them', async () => {
    await using configs = await startConfigsApp();
    const [a = 0, b = 0, c = 0, d = 0] = await createMany(configs, family, 4);
    const answer = await rearrange(configs, { orders: { [a]: 3, [d]: 0 } });
    expect(answer.body).toMatchObject({ id: d, order: 0 });
    expect((await listed(configs, family)).map(({ id }) => id)).toEqual([d, b, c, a]);
    const asForm = await rearrange(configs, `orders=${encodeURIComponent(JSON.stringify({ [a]: 0 }))}`);
    expect(asForm.body, asForm.text).toMatchObject({ id: a, order: 0 });
  });

  it.each([
    ['an unknown id', { id: 999, order: 0 }, 'does_not_exist', 'id'],
    ['an unknown plugin', { plugin: 999, order: 0 }, 'does_not_exist', 'plugin'],
    ['no config at all', { order: 0 }, 'required', 'id'],
    ['empty orders', { orders: {} }, 'required', 'orders'],
    ['orders that name an unknown id', { orders: { '1': 1, '999': 0 } }, 'does_not_exist', 'orders'],
    ['orders that name no id', { orders: { constructor: 0 } }, 'does_not_exist', 'orders'],
    ['a position that is no number', { orders: { '1': 'x' } }, 'invalid_input', 'orders__1'],
  ])('refuses %s and changes nothing', async (_name, payload, code, attr) => {
    await using configs = await startConfigsApp();
    await createMany(configs, family, 2);
    const revision = await configs.revision();
    const answer = await rearrange(configs, payload);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code, attr });
    expect(await configs.revision()).toBe(revision);
  });

  it('configs in the bin and of the other family hold no place', async () => {
    await using configs = await startConfigsApp();
    const [a = 0, b = 0, c = 0] = await createMany(configs, family, 3);
    const other = family === 'transformation' ? 'import-app' : 'transformation';
    const elsewhere = await configs.create(other, { order: 7 });
    await configs.call('PATCH', family, `/${b}/`, { deleted: true });
    await rearrange(configs, { id: c, order: 0 });
    expect(await listed(configs, family)).toEqual([
      { id: c, order: 0 },
      { id: a, order: 1 },
    ]);
    expect(await listed(configs, other)).toEqual([{ id: elsewhere, order: 7 }]);
    const restored = await rearrange(configs, { id: b, deleted: false, order: 1 });
    expect(restored.body).toMatchObject({ id: b, order: 1, deleted: false });
    expect((await listed(configs, family)).map(({ id }) => id)).toEqual([c, b, a]);
  });

  it('many at the same time: the family stays 0..n-1', async () => {
    await using configs = await startConfigsApp();
    const ids = await createMany(configs, family, 5);
    const moves = ids.flatMap((id, index) => [
      rearrange(configs, { id, order: 4 - index }),
      rearrange(configs, { orders: { [id]: 0 } }),
      configs.call('PATCH', family, `/${id}/`, { name: `n${index}` }),
    ]);
    for (const answer of await Promise.all(moves)) expect(answer.status).toBe(200);
    const after = await listed(configs, family);
    expect(after.map(({ order }) => order)).toEqual([0, 1, 2, 3, 4]);
    expect(after.map(({ id }) => id).sort((x, y) => x - y)).toEqual(ids);
  });
});

describe('any sequence of moves', () => {
  it('does what taking out and putting in does on a list', async () => {
    await using configs = await startConfigsApp();
    const ids = await createMany(configs, 'transformation', 5);
    let model = [...ids];
    const move = fc.record({ index: fc.nat({ max: 4 }), order: fc.integer({ min: -2, max: 7 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 4 }), async (moves) => {
        for (const { index, order } of moves) {
          const id = ids[index] ?? 0;
          await configs.call('PATCH', 'transformation', '/rearrange/', { id, order });
          model = model.filter((other) => other !== id);
          model.splice(Math.max(0, order), 0, id);
        }
        expect((await listed(configs, 'transformation')).map(({ id }) => id)).toEqual(model);
      }),
      { numRuns: 15 },
    );
  });
});
