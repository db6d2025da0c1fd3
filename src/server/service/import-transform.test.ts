import { expect, it } from 'vitest';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';
import type { RunTransform } from '../../imports/run/run.ts';
import { TransformError } from '../../imports/transform.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { openImportTransform } from './import-transform.ts';

const apps = '/pipeline_import_apps_configs';
const transformations = '/pipeline_transformation_configs';
const plugins = builtInPlugins.filter(({ slug }) => slug === 'drop-events');

async function transformation(api: ImportsApp, settings: object): Promise<number> {
  const { id: plugin } = await api.app.db
    .selectFrom('plugins')
    .select('id')
    .where('slug', '=', 'drop-events')
    .executeTakeFirstOrThrow();
  const { body } = await api.call('POST', `${transformations}/`, { plugin });
  const id = Number(body['id']);
  await api.call('PATCH', `${transformations}/${id}/settings/`, settings);
  return id;
}

it('a run names a transformation config of its project, which must not run on its events a second time', async () => {
  await using api = await startImportsApp({ plugins });
  const transform = await transformation(api, { events: 'test' });
  const config = await api.config();
  const start = (body: object) => api.call('POST', `${apps}/${config}/runs/`, body);
  expect(await start({ transform: 9999 })).toMatchObject({ status: 400, body: { attr: 'transform' } });
  expect(await start({ transform: config })).toMatchObject({ status: 400, body: { attr: 'transform' } });
  const { status, body } = await start({ transform });
  const shown = { config: transform, name: 'Drop events', hash: expect.stringMatching(/^[0-9a-f]{16}$/) as string };
  expect([status, body['options']]).toEqual([201, expect.objectContaining({ transform: shown })]);
  await api.call('PATCH', `${transformations}/${transform}/`, { enabled: true });
  const twice = await start({ transform });
  expect([twice.status, twice.body['detail']]).toEqual([
    409,
    expect.stringContaining('would transform the events again'),
  ]);
  const elsewhere = { target_url: 'https://a.example', target_api_key: 'phc_x', transform: String(transform) };
  await api.call('PATCH', `${apps}/${config}/settings/`, elsewhere);
  expect((await start({})).body['options']).toMatchObject({ transform: shown, target: { kind: 'http' } });
  await api.call('PATCH', `${apps}/${config}/settings/`, { transform: 'mine' });
  const wrong = await start({});
  expect([wrong.status, wrong.body['detail']]).toEqual([400, expect.stringContaining('setting "transform": expected')]);
});

it('a transformation that was changed or deleted after a run was created is refused, whatever its name and position', async () => {
  await using api = await startImportsApp({ plugins });
  const id = await transformation(api, { events: 'test' });
  const config = await api.config();
  const { body } = await api.call('POST', `${apps}/${config}/runs/`, { transform: id });
  const { transform } = body['options'] as { readonly transform: RunTransform };
  const unused = (): never => {
    throw new Error('expected a transformation of this program');
  };
  const place = () => ({
    sandbox: { open: unused },
    fetch: unused,
    geoip: { geoip: undefined, geoipProblem: '' },
  });
  const open = openImportTransform({ db: api.app.db, clock: api.app.clock, place }, api.app.project.id);
  const events = ['test', 'bought'].map((event) => ({
    uuid: '01900000-0000-7000-8000-000000000001',
    event,
    distinctId: 'u',
    teamId: 1,
    timestamp: '2024-01-01T00:00:00Z',
    receivedAt: 0,
    propertiesText: '{}',
  }));
  await api.call('PATCH', `${transformations}/${id}/`, { name: 'Another name' });
  const opened = await (await open(transform, 0)).open();
  expect((await opened.run(events)).map(({ kind }) => kind)).toEqual(['dropped', 'unchanged']);
  await api.call('PATCH', `${transformations}/${id}/settings/`, { events: 'other' });
  await expect(open(transform, 0)).rejects.toThrow(/as it was when the run was created.*were changed since/);
  await api.call('PATCH', `${transformations}/${id}/settings/`, { events: 'test' });
  await expect(open(transform, 0)).resolves.toMatchObject({ name: 'Drop events' });
  await api.call('DELETE', `${transformations}/${id}/`);
  await expect(open(transform, 0)).rejects.toThrow(TransformError);
});
