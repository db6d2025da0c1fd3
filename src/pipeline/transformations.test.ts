import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bumpConfigRevision } from '../stores/metadata/config-revision.ts';
import { setConfigError } from '../plugins/configs/set-config-error.ts';
import { definePlugin, SettingsError, type TransformationPlugin, type TransformEvent } from '../plugins/plugin.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';

function plugin(slug: string, create: TransformationPlugin['create'], fields: TransformationPlugin['fields'] = []) {
  const example = { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null };
  return definePlugin({
    kind: 'transformation',
    slug,
    name: slug,
    description: '',
    version: '1',
    fields,
    example,
    create,
  });
}

const tag = plugin(
  'tag',
  (settings) => {
    if (settings['tag'] === 'impossible') throw new SettingsError('this tag cannot work');
    return (event) => {
      event.properties['tags'] = `${String(event.properties['tags'] ?? '')}${String(settings['tag'])}`;
      return event;
    };
  },
  [{ key: 'tag', name: 'Tag', type: 'string', required: true, secret: true }],
);
const drop = plugin('drop', () => (event) => (event.event === 'drop me' ? null : event));
const fail = plugin(
  'fail',
  () => (event) => {
    if (event.properties['fail'] === true) throw new Error('no such s3cret');
    if (typeof event.properties['fail'] === 'string') throw new Error(event.properties['fail']);
    return event;
  },
  [{ key: 'key', name: 'Key', type: 'string', secret: true }],
);
const filed = plugin(
  'filed',
  () => (event) => {
    event.properties['filed'] = true;
    return event;
  },
  [{ key: 'map', name: 'Map', type: 'attachment', required: true }],
);
const rename = plugin('rename', () => (event): TransformEvent => ({
  ...event,
  uuid: uuid(999),
  team_id: 999,
  event: 'renamed',
  distinct_id: `new ${event.distinct_id}`,
  timestamp: '2026-11-20T10:00:00Z',
}));

let bench: Bench;
beforeEach(async () => {
  bench = await createBench({ plugins: [tag, drop, fail, filed, rename] });
});
afterEach(() => bench[Symbol.asyncDispose]());

let made = 0;
async function send(...events: object[]): Promise<void> {
  const batch = events.map((each) => {
    const timestamp = new Date(receivedAt).toISOString();
    return Object.assign({ event: 'seen', distinct_id: 'p', uuid: uuid(++made), timestamp, properties: {} }, each);
  });
  await bench.append('live', { batch }, { events: batch.length });
  await bench.drain();
}
const stored = () => bench.recording.rows.map((row) => JSON.parse(row.properties) as Record<string, unknown>);
const errorOf = async (id: number) =>
  (await bench.db.selectFrom('plugin_configs').select('error').where('id', '=', id).executeTakeFirstOrThrow()).error;
const update = async (id: number, changes: object) => {
  const now = new Date(Date.now() + 1000).toISOString();
  await bench.db
    .updateTable('plugin_configs')
    .set({ updated_at: now, ...changes })
    .where('id', '=', id)
    .execute();
  await bumpConfigRevision(bench.db);
};

describe('transformations of a project', () => {
  it('run in order of position and add their labels', async () => {
    const second = await bench.addTransformation('tag', { tag: 'b' });
    const first = await bench.addTransformation('tag', { tag: 'a' });
    await update(second, { position: 5 });
    await send({});
    expect(stored()).toEqual([
      { tags: 'ab', $plugins_succeeded: [`tag (${first})`, `tag (${second})`], $plugins_failed: [] },
    ]);
  });

  it('changes take effect from the next window: settings, enabling and deletion', async () => {
    const id = await bench.addTransformation('tag', { tag: 'a' });
    await send({});
    await update(id, { settings: '{"tag":"b"}' });
    await send({});
    await update(id, { enabled: 0 });
    await send({});
    await update(id, { enabled: 1, deleted: 1 });
    await send({});
    expect(stored().map((each) => each['tags'])).toEqual(['a', 'b', undefined, undefined]);
  });

  it('a dropped event leaves a count, a warning and no person', async () => {
    const id = await bench.addTransformation('drop');
    await send({ event: 'drop me' }, { distinct_id: 'q' });
    expect(bench.recording.rows.map((row) => row.event)).toEqual(['seen']);
    expect(await bench.person('p')).toBeUndefined();
    expect(await bench.deadLetters()).toEqual([]);
    expect(await bench.warnings()).toMatchObject([{ type: 'event_dropped_by_transformation', count: 1 }]);
    expect(await bench.metrics.text()).toMatch(/discarded_events_total\{[^}]*intentional="true"\} 1/);
    expect(await bench.db.selectFrom('plugin_metrics').selectAll().execute()).toEqual([
      {
        config_id: id,
        project_id: bench.projectId,
        hour: '2026-11-20T12:00:00.000000Z',
        succeeded: 1,
        failed: 0,
        dropped: 1,
        skipped: 0,
        micros: expect.any(Number),
      },
    ]);
  });

  it('a failure keeps the event, and its error is recorded once, without secrets, until the next change', async () => {
    const id = await bench.addTransformation('fail', { key: 's3cret' });
    await send({ properties: { fail: true } }, { properties: { fail: true } });
    await send({ properties: { fail: true } });
    expect(stored()).toHaveLength(3);
    for (const each of stored()) {
      expect(each).toEqual({ fail: true, $plugins_succeeded: [], $plugins_failed: [`fail (${id})`] });
    }
    expect(await errorOf(id)).toMatch(/^no such \*+ POSTHOG SECRET FIELD/);
    expect(await bench.db.selectFrom('activity_log').select(['activity', 'is_system']).execute()).toEqual([
      { activity: 'failed', is_system: 1 },
    ]);
    await update(id, { name: 'again' });
    await send({});
    expect(await errorOf(id)).toBe('');
  });

  it('after a restart an error is cleared once events pass, but the error of a job is not', async () => {
    const id = await bench.addTransformation('fail', {});
    const other = await bench.addTransformation('rename', {});
    await send({ properties: { fail: 'onEvent failed' } });
    expect(await errorOf(id)).toBe('onEvent failed');
    await bench.db
      .transaction()
      .execute((tx) => setConfigError(tx, other, { error: 'no route', source: 'job "sync"' }, receivedAt));
    await bench.stop();
    await send(...Array.from({ length: 200 }, () => ({})));
    expect([await errorOf(id), await errorOf(other)]).toEqual(['', 'no route']);
  });

  it('one that cannot be created is skipped, reports why, and recovers automatically', async () => {
    const missing = await bench.addTransformation('tag', {});
    const wrong = await bench.addTransformation('tag', { tag: 'impossible' });
    await send({});
    expect(stored()).toEqual([{}]);
    expect([await errorOf(missing), await errorOf(wrong)]).toEqual([
      'missing required setting "tag"',
      'this tag cannot work',
    ]);
    await update(missing, { settings: '{"tag":"x"}' });
    await send({});
    expect(stored()[1]?.['tags']).toBe('x');
    expect(await errorOf(missing)).toBe('');
  });

  it('a required file is passed once it is attached', async () => {
    const id = await bench.addTransformation('filed');
    await send({});
    expect(await errorOf(id)).toBe('missing required setting "map"');
    const file = { file_name: 'm.csv', content_type: 'text/csv', size: 1, content: Uint8Array.of(1) };
    await bench.db
      .insertInto('plugin_attachments')
      .values({ config_id: id, key: 'map', ...file })
      .execute();
    await update(id, {});
    await send({});
    expect(stored().map((each) => each['filed'])).toEqual([undefined, true]);
    expect(await errorOf(id)).toBe('');
  });

  it('name, id, uuid and time can change, the project cannot, and persons are those of the result', async () => {
    await bench.addTransformation('rename');
    await send({ uuid: uuid(7) });
    expect(bench.recording.rows).toMatchObject([
      {
        projectId: bench.projectId,
        uuid: uuid(999),
        event: 'renamed',
        distinctId: 'new p',
        micros: Date.UTC(2026, 10, 20, 10) * 1000,
      },
    ]);
    expect(await bench.person('p')).toBeUndefined();
    expect((await bench.person('new p'))?.created_at).toBe('2026-11-20T10:00:00.000000Z');
  });

  it('the identity is that of the result: an event that is sent again with another renaming is stored twice', async () => {
    const event = { uuid: uuid(500), distinct_id: 'a' };
    await send(event);
    await bench.addTransformation('tag', { tag: 'x' });
    await send(event);
    expect(bench.recording.read()).toMatchObject([{ event: 'seen', distinctId: 'a', properties: '{}' }]);
    await bench.addTransformation('rename');
    await send(event);
    await send(event);
    expect(bench.recording.read()).toMatchObject([
      { event: 'seen', distinctId: 'a', uuid: uuid(500) },
      { event: 'renamed', distinctId: 'new a', uuid: uuid(999) },
    ]);
  });

  it('other projects are not affected', async () => {
    await bench.addTransformation('drop');
    await bench.db.updateTable('plugin_configs').set({ project_id: bench.projectId }).execute();
    const { organization_id } = await bench.db
      .selectFrom('projects')
      .select('organization_id')
      .executeTakeFirstOrThrow();
    const other = await bench.db
      .insertInto('projects')
      .values({
        uuid: 'x',
        organization_id,
        name: 'other',
        api_token: 'phc_other',
        timezone: 'UTC',
        created_at: '',
        updated_at: '',
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    const event = { event: 'drop me', distinct_id: 'p', uuid: uuid(1), timestamp: '2026-11-20T10:00:00Z' };
    await bench.append('live', { batch: [event] }, { projectId: other.id });
    await bench.drain();
    expect(bench.recording.rows.map((row) => [row.projectId, row.properties])).toEqual([[other.id, '{}']]);
  });
});
