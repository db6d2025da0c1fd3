import { beforeEach, afterEach, describe, expect, it } from 'vitest';
import { startConfigsApp } from '../../../test/support/configs-app.ts';
import { secretMask } from '../../plugins/fields.ts';

let own: Awaited<ReturnType<typeof startConfigsApp>>;
let id: number;
beforeEach(async () => {
  own = await startConfigsApp();
  id = await own.create('transformation', { name: 'First', enabled: true });
  await own.call('PUT', 'transformation', `/${id}/settings/`, { bucket: 'a', token: 'secret-1', table: { n: 1 } });
});
afterEach(() => own.app[Symbol.asyncDispose]());

const timeNow = (): string => new Date(own.app.clock.now()).toISOString();
const storedSettings = async (): Promise<unknown> => {
  const row = await own.app.db
    .selectFrom('plugin_configs')
    .select('settings')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return JSON.parse(row.settings);
};
const restore = (body: object) => own.call('POST', 'transformation', `/${id}/restore/`, body);

describe('restoring a config', () => {
  it('restores the earlier state, except that secrets keep their current value and the order stays', async () => {
    const then = timeNow();
    own.app.clock.advance(1000);
    await own.call('PATCH', 'transformation', `/${id}/`, { name: 'Second', enabled: false, order: 9 });
    await own.call('PATCH', 'transformation', `/${id}/settings/`, { bucket: 'b', token: 'secret-2', region: 'us' });
    const { status, body } = await restore({ at: then });
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: 'First', enabled: true, order: 9, deleted: false });
    expect(JSON.parse(String(body['config']))).toEqual({ bucket: 'a', token: secretMask, table: { n: 1 } });
    expect(await storedSettings()).toEqual({ bucket: 'a', token: 'secret-2', table: { n: 1 } });
    const [latest] = await own.activity(id);
    expect(JSON.stringify(latest)).toContain('"settings.bucket"');
    expect(JSON.stringify(latest)).not.toContain('secret-');
  });

  it('takes back a secret that was not set then', async () => {
    await own.call('PATCH', 'transformation', `/${id}/settings/`, { token: '' });
    const then = timeNow();
    own.app.clock.advance(1000);
    await own.call('PATCH', 'transformation', `/${id}/settings/`, { token: 'new-secret' });
    await restore({ at: then });
    expect(await storedSettings()).toEqual({ bucket: 'a', table: { n: 1 } });
  });

  it('of some fields leaves the others, and a dry run changes nothing', async () => {
    const then = timeNow();
    own.app.clock.advance(1000);
    await own.call('PATCH', 'transformation', `/${id}/`, { name: 'Second' });
    await own.call('PATCH', 'transformation', `/${id}/settings/`, { bucket: 'b' });
    const dry = await restore({ at: then, dry_run: true });
    expect(dry.body).toMatchObject({ name: 'First' });
    expect((await own.call('GET', 'transformation', `/${id}/`)).body).toMatchObject({ name: 'Second' });
    const { body } = await restore({ at: then, fields: ['settings'] });
    expect(body).toMatchObject({ name: 'Second' });
    expect(await storedSettings()).toMatchObject({ bucket: 'a' });
  });

  it('out of the bin brings it back as it ran', async () => {
    const then = timeNow();
    own.app.clock.advance(1000);
    await own.call('PATCH', 'transformation', `/${id}/`, { deleted: true });
    expect((await restore({ at: then })).body).toMatchObject({ deleted: false, enabled: true });
  });

  it('to a time before it was there is refused', async () => {
    expect(await restore({ at: '2020-01-01' })).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist', attr: 'at' },
    });
    expect(await restore({ at: 'yesterday' })).toMatchObject({ status: 400, body: { attr: 'at' } });
  });
});
