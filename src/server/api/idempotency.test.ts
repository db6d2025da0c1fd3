import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pluginFamilies } from '../../wire/contract/plugins.ts';
import { startConfigsApp, type Answer, type ConfigsApp } from '../../../test/support/configs-app.ts';

let configs: ConfigsApp;
beforeAll(async () => {
  configs = await startConfigsApp();
});
afterAll(() => configs[Symbol.asyncDispose]());

describe.each(pluginFamilies)('Idempotency-Key, %s', (family) => {
  const create = (key: string, fields: object = {}): Promise<Answer> =>
    configs.call('POST', family, '/', { plugin: configs.pluginOf(family), ...fields }, { 'idempotency-key': key });
  const count = async (): Promise<unknown> => (await configs.call('GET', family, '/')).body['count'];

  it('a repetition gets the first answer and makes nothing', async () => {
    const first = await create('one');
    const before = await count();
    const again = await create('one');
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers['location']).toBe(first.headers['location']);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    expect(await count()).toBe(before);
  });

  it('the same key with another body is refused', async () => {
    await create('two');
    const other = await create('two', { order: 3 });
    expect(other.status).toBe(400);
    expect(other.body).toMatchObject({ code: 'invalid_input', attr: null });
  });

  it('many at the same time have one effect', async () => {
    const before = Number(await count());
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('twins')));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
    expect(await count()).toBe(before + 1);
  });

  it('a refused request is not remembered', async () => {
    expect((await create('three', { plugin: 999 })).status).toBe(400);
    expect((await create('three')).status).toBe(201);
  });

  it('a key is forgotten after 24 hours', async () => {
    const first = await create('four');
    configs.app.clock.advance(24 * 3_600_000 + 1);
    const later = await create('four');
    expect(later.status).toBe(201);
    expect(later.body['id']).not.toBe(first.body['id']);
  });

  it('a job is started once', async () => {
    const id = await configs.create(family);
    const start = () => configs.call('POST', family, `/${id}/job`, {}, { 'idempotency-key': 'job' });
    const first = await start();
    const again = await start();
    expect(again.headers['x-job-id']).toBe(first.headers['x-job-id']);
    expect((await configs.get(`/jobs/?plugin_config=${id}`)).body['count']).toBe(1);
  });

  it('another path or key holder is another request', async () => {
    const id = await configs.create(family);
    const key = { 'idempotency-key': 'shared' };
    const one = await configs.call('PATCH', family, `/${id}`, { name: 'x' }, key);
    const other = await configs.call('PATCH', family, '/rearrange', { id, name: 'y' }, key);
    expect([one.body['name'], other.body['name']]).toEqual(['x', 'y']);
    const authorization = `Bearer ${await configs.app.key()}`;
    const stranger = await configs.call('PATCH', family, `/${id}`, { name: 'z' }, { ...key, authorization });
    expect(stranger.body['name']).toBe('z');
  });

  it('a deletion that is repeated with its key is no 404', async () => {
    const id = await configs.create(family);
    const remove = () => configs.call('DELETE', family, `/${id}`, undefined, { 'idempotency-key': `del ${id}` });
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 204]);
  });

  it.each(['', 'x'.repeat(256), 'tab\there'])('the key %j is refused', async (key) => {
    expect((await create(key)).body).toMatchObject({ code: 'invalid_input' });
  });
});
