import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pluginFamilies, type Family } from '../../wire/contract/plugins.ts';
import { secretMask } from '../../plugins/fields.ts';
import { startConfigsApp, type Answer, type ConfigsApp, type Method } from '../../../test/support/configs-app.ts';

const secret = 'hunter2-do-not-show';

let configs: ConfigsApp;
beforeAll(async () => {
  configs = await startConfigsApp();
});
afterAll(() => configs[Symbol.asyncDispose]());

async function stored(id: number): Promise<unknown> {
  const query = configs.app.db.selectFrom('plugin_configs').select('settings').where('id', '=', id);
  return JSON.parse((await query.executeTakeFirstOrThrow()).settings) as unknown;
}

/** A multipart body: texts are fields, lists are files [name, type, content]. */
function multipart(parts: Readonly<Record<string, string | readonly [string, string, string]>>) {
  const boundary = 'millrace-test-boundary';
  const lines = Object.entries(parts).map(([name, part]) => {
    const file = typeof part === 'string' ? '' : `; filename="${part[0]}"\r\nContent-Type: ${part[1]}`;
    const content = typeof part === 'string' ? part : part[2];
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
  });
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return { payload: `${lines.join('')}--${boundary}--\r\n`, headers };
}

describe.each(pluginFamilies)('settings of %s configs', (family: Family) => {
  const call = (method: Method, id: number, payload?: object | string, headers = {}): Promise<Answer> =>
    configs.call(method, family, `/${id}/settings/`, payload, headers);

  it('PUT replaces everything, PATCH merges, omitted secrets are kept', async () => {
    const id = await configs.create(family);
    const put = await call('PUT', id, { bucket: 'b', token: secret, region: 'us', table: { a: [1] } });
    expect(put.status).toBe(200);
    expect(put.body).toEqual({ bucket: 'b', token: secretMask, region: 'us', table: { a: [1] } });
    expect((await call('PATCH', id, { region: 'eu' })).body).toEqual({ ...put.body, region: 'eu' });
    expect((await call('PUT', id, { bucket: 'c', token: null })).body).toEqual({ bucket: 'c', token: secretMask });
    expect(await stored(id)).toEqual({ bucket: 'c', token: secret });
    expect((await call('PATCH', id, { token: '' })).body).toEqual({ bucket: 'c' });
    expect(await stored(id)).toEqual({ bucket: 'c' });
    const log = await configs.activity(id);
    expect(log.map((entry) => entry.activity)).toEqual([...Array(4).fill('config_updated'), 'created']);
    expect(log[0]?.detail.changes).toEqual([
      { field: 'settings.token', action: 'deleted', before: secretMask, after: null },
    ]);
  });

  it('the record shows them as text, healthy once nothing required is missing', async () => {
    const id = await configs.create(family, { enabled: true });
    const record = async (): Promise<Answer['body']> => (await configs.call('GET', family, `/${id}/`)).body;
    expect(await record()).toMatchObject({ enabled: true, error: 'missing required setting "bucket"', config: '{}' });
    await call('PATCH', id, { bucket: 'b' });
    expect(await record()).toMatchObject({ enabled: true, error: '', config: '{"bucket":"b"}' });
  });

  it('the same again changes nothing', async () => {
    const id = await configs.create(family);
    await call('PUT', id, { bucket: 'b', token: secret });
    const revision = await configs.revision();
    await call('PUT', id, { bucket: 'b', token: secret });
    await call('PATCH', id, {});
    expect(await configs.revision()).toBe(revision);
    expect(await configs.activity(id)).toHaveLength(2);
  });

  it.each([
    ['unknown key', { bucket: 'b', nothing: 1 }, 'invalid_input', 'settings.nothing'],
    ['key of every object', { bucket: 'b', constructor: 'x' }, 'invalid_input', 'settings.constructor'],
    ['number for text', { bucket: 5 }, 'invalid_input', 'settings.bucket'],
    ['no choice of the list', { bucket: 'b', region: 'moon' }, 'invalid_input', 'settings.region'],
    ['text that is no JSON', { bucket: 'b', table: '{' }, 'invalid_input', 'settings.table'],
    ['the mask', { bucket: 'b', token: secretMask }, 'invalid_input', 'settings.token'],
    ['a file as text', { bucket: 'b', map: 'x' }, 'invalid_input', 'settings.map'],
    ['a required one is missing', { region: 'eu' }, 'required', 'settings.bucket'],
    ['a required one emptied', { bucket: '' }, 'required', 'settings.bucket'],
    ['a list', [], 'invalid_input', null],
  ])('PUT refuses %s and stores nothing', async (_name, payload, code, attr) => {
    const id = await configs.create(family);
    const answer = await call('PUT', id, payload);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ type: 'validation_error', code, attr });
    expect(await stored(id)).toEqual({});
  });

  it('only transformations have a filter for events, checked and shown like their own settings', async () => {
    const id = await configs.create(family);
    const $filter = { events: ['order *'], properties: [{ property: 'plan', operator: 'is_set' }] };
    const answer = await call('PATCH', id, { bucket: 'b', $filter });
    const isTransformation = family === 'transformation';
    const refusal = { status: 400, body: { code: 'invalid_input', attr: 'settings.$filter' } };
    expect(answer).toMatchObject(isTransformation ? { status: 200, body: { bucket: 'b', $filter } } : refusal);
    if (!isTransformation) return;
    const refused = await call('PATCH', id, { $filter: { events: 'order' } });
    expect(refused).toMatchObject(refusal);
    expect((await call('PATCH', id, { $filter: null })).body).toEqual({ bucket: 'b' });
    const [, cleared] = await configs.activity(id);
    expect(cleared?.detail.changes).toContainEqual(expect.objectContaining({ field: 'settings.$filter' }));
  });

  it('several faults are all named', async () => {
    const id = await configs.create(family);
    const { body } = await call('PUT', id, { region: 'moon', nothing: 1 });
    const attrs = (body['errors'] as { attr: string }[]).map(({ attr }) => attr);
    expect(attrs).toEqual(['settings.region', 'settings.nothing', 'settings.bucket']);
  });

  it('of very many faults the first twenty are named', async () => {
    const id = await configs.create(family);
    const { body } = await call(
      'PATCH',
      id,
      Object.fromEntries(Array.from({ length: 500 }, (_, key) => [`k${key}`, 1])),
    );
    expect(body['errors']).toHaveLength(20);
  });

  it('files go up as multipart, show as what they are, and stay until they are removed', async () => {
    const id = await configs.create(family);
    const up = multipart({
      bucket: 'b',
      map: ['map.csv', 'text/csv', 'a,b\n'],
      'add_attachment[key_file]': ['key.pem', 'text/plain', secret],
    });
    const answer = await call('PUT', id, up.payload, up.headers);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      bucket: 'b',
      map: { uid: expect.any(Number), saved: true, size: 4, name: 'map.csv', type: 'text/csv' },
      key_file: { uid: -1, saved: true, size: -1, name: secretMask, type: 'application/octet-stream' },
    });
    const rows = configs.app.db.selectFrom('plugin_attachments').selectAll().where('config_id', '=', id);
    const contents = (await rows.orderBy('key').execute()).map(({ content }) => Buffer.from(content).toString());
    expect(contents).toEqual([secret, 'a,b\n']);
    const { map } = answer.body;
    expect((await call('PUT', id, { bucket: 'b', map })).body).toEqual(answer.body);
    const remove = multipart({ 'remove_attachment[map]': 'true' });
    expect(Object.keys((await call('PATCH', id, remove.payload, remove.headers)).body)).toEqual(['bucket', 'key_file']);
    expect((await call('PUT', id, { bucket: 'b', key_file: '' })).body).toEqual({ bucket: 'b' });
    expect(await rows.execute()).toEqual([]);
  });

  it('comparing cannot reveal a secret: after five other values none is compared for an hour', async () => {
    const id = await configs.create(family);
    await call('PATCH', id, { bucket: 'b', token: secret });
    const compare = (payload: object) => configs.call('POST', family, `/${id}/settings/compare/`, payload);
    for (let n = 0; n < 5; n++)
      expect((await compare({ token: `guess ${n}` })).body).toMatchObject({ different: ['token'] });
    for (const token of ['guess 6', secret]) {
      expect(await compare({ token })).toMatchObject({ status: 429, body: { code: 'throttled' } });
    }
    expect((await compare({ bucket: 'b' })).body).toEqual({ same: ['bucket'], different: [] });
    const log = await configs.activity(id);
    expect(log.filter(({ activity }) => activity === 'secret_compared')).toHaveLength(5);
    configs.app.clock.advance(3_600_001);
    expect((await compare({ token: secret })).body).toEqual({ same: ['token'], different: [] });
  });

  it('what cannot be read can be compared: secrets and files too, and nothing changes', async () => {
    const id = await configs.create(family);
    const up = multipart({ bucket: 'b', token: secret, map: ['map.csv', 'text/csv', 'a,b\n'] });
    await call('PUT', id, up.payload, up.headers);
    const revision = await configs.revision();
    const compare = async (payload: object | string, headers = {}) =>
      (await configs.call('POST', family, `/${id}/settings/compare/`, payload, headers)).body;
    expect(await compare({ bucket: 'c', token: secret, region: '' })).toEqual({
      same: ['token', 'region'],
      different: ['bucket'],
    });
    expect(await compare({ token: 'other', table: { a: 1 }, map: '' })).toEqual({
      same: [],
      different: ['token', 'table', 'map'],
    });
    expect(await compare({ token: '' })).toEqual({ same: [], different: ['token'] });
    for (const [content, expected] of [
      ['a,b\n', { same: ['map'], different: ['key_file'] }],
      ['a,c\n', { same: [], different: ['map', 'key_file'] }],
    ] as const) {
      const files = multipart({ map: ['other.csv', 'text/csv', content], key_file: ['k', 'text/plain', 'k'] });
      expect(await compare(files.payload, files.headers)).toEqual(expected);
    }
    expect(await compare({ token: secretMask, nothing: 1 })).toMatchObject({
      errors: [{ attr: 'settings.token' }, { attr: 'settings.nothing' }],
    });
    expect(await configs.revision()).toBe(revision);
  });

  it('with If-Match, a client cannot overwrite changes that it has not read', async () => {
    const id = await configs.create(family);
    const seen = async (): Promise<Record<string, string>> => {
      const { body } = await configs.call('GET', family, `/${id}/`);
      return { 'if-match': `"${String(body['updated_at'])}"` };
    };
    const first = await seen();
    expect((await call('PUT', id, { bucket: 'b' }, first)).status).toBe(200);
    const late = await call('PUT', id, { bucket: 'c' }, first);
    expect([late.status, late.body['code']]).toEqual([412, 'precondition_failed']);
    for (const [method, path, payload] of [
      ['PATCH', `/${id}/`, { enabled: true }],
      ['PUT', `/${id}/`, { plugin: configs.pluginOf(family) }],
      ['POST', `/${id}/upgrade/`, {}],
      ['POST', `/${id}/job/`, {}],
      ['DELETE', `/${id}/`, undefined],
    ] as const) {
      expect((await configs.call(method, family, path, payload, first)).status, `${method} ${path}`).toBe(412);
    }
    expect(await stored(id)).toEqual({ bucket: 'b' });
    expect((await call('PATCH', id, { bucket: 'd' }, await seen())).status).toBe(200);
    expect((await call('PATCH', id, { bucket: 'e' }, { 'if-match': '*' })).status).toBe(200);
    expect((await configs.call('DELETE', family, `/${id}/`, undefined, await seen())).status).toBe(204);
  });

  it('a file for a setting that takes none is refused', async () => {
    const id = await configs.create(family);
    const { payload, headers } = multipart({ bucket: ['b.txt', 'text/plain', 'b'] });
    expect((await call('PATCH', id, payload, headers)).body).toMatchObject({ attr: 'settings.bucket' });
  });

  it('a secret appears in no answer, no log entry and no snapshot, whatever happens to it', async () => {
    const id = await configs.create(family, { enabled: true });
    const { payload, headers } = multipart({ key_file: ['k', 'text/plain', secret] });
    const answers = [
      await call('PUT', id, { bucket: 'closed', token: secret }),
      await call('PATCH', id, payload, headers),
      await call('PATCH', id, { token: `${secret}-two` }),
      await call('PATCH', id, { token: [secret] }),
      await configs.call('POST', family, `/${id}/settings/compare/`, { token: `${secret}-two`, bucket: secret }),
      await call('GET', id),
      await configs.call('POST', family, `/${id}/job/`, {}),
      await configs.call('GET', family, '/?limit=1000'),
      await configs.call('GET', family, `/${id}/activity/?at=2999-01-01`),
      await configs.call('GET', family, `/${id}/frontend/`),
      await configs.get('/activity_log/?limit=1000'),
      await configs.get('/jobs/'),
      await configs.call('PATCH', family, '/rearrange/', { id, order: 0 }),
      await call('PATCH', id, { token: '', key_file: '' }),
    ];
    await configs.call('DELETE', family, `/${id}/`);
    for (const answer of answers) expect(answer.text).not.toContain('hunter2');
    const rows = await configs.app.db.selectFrom('activity_log').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain('hunter2');
    expect(JSON.stringify(configs.app.logged)).not.toContain('hunter2');
  });
});

describe('settings that a transformation refuses', () => {
  it('are stored, and the record says why it cannot run, without the secret', async () => {
    const id = await configs.create('transformation', { enabled: true });
    await configs.call('PUT', 'transformation', `/${id}/settings`, { bucket: 'closed', token: secret });
    const record = async () => (await configs.call('GET', 'transformation', `/${id}/`)).body;
    expect(await record()).toMatchObject({ enabled: true, error: `bucket is closed for ${secretMask}` });
    await configs.call('PATCH', 'transformation', `/${id}/settings`, { bucket: 'open' });
    expect(await record()).toMatchObject({ enabled: true, error: '' });
  });
});
