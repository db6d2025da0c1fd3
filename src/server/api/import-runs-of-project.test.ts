import { describe, expect, it } from 'vitest';
import { createRun } from '../../imports/run/run-store.ts';
import { cancelRun, pauseRun } from '../../imports/run/run-transitions.ts';
import { runOptions } from '../../../test/support/runs.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

async function addRuns(api: ImportsApp, configId: number, count: number): Promise<string[]> {
  const { db, clock, project } = api.app;
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const owner = { projectId: project.id, configId, source: 'test-source' };
    ids.push((await createRun(db, { ...owner, options: runOptions, now: clock.now() })).id);
  }
  return ids;
}

const idsOf = (body: Readonly<Record<string, unknown>>): unknown[] =>
  (body['results'] as { readonly id: unknown }[]).map(({ id }) => id);

describe('the import runs of a project', () => {
  it('include all configs, newest first, page by page, each once, while new ones are added', async () => {
    await using api = await startImportsApp();
    const [one, other] = [await api.config(), await api.config()];
    const ids = [...(await addRuns(api, one, 3)), ...(await addRuns(api, other, 2))];
    const seen: unknown[] = [];
    let path: string | null = '/import_runs/?limit=2';
    while (path !== null) {
      const { status, body } = await api.call('GET', path);
      expect(status).toBe(200);
      seen.push(...idsOf(body));
      const next = body['next'] as string | null;
      path = next === null ? null : `/import_runs/${new URL(next).search}`;
      if (seen.length === 2) await addRuns(api, one, 1);
    }
    expect(seen).toEqual(ids.reverse());
  });

  it('by state, config and source, with how many there are of each state', async () => {
    await using api = await startImportsApp();
    const [one, other] = [await api.config(), await api.config()];
    const [first = '', second = '', third = ''] = await addRuns(api, one, 3);
    const [fourth] = await addRuns(api, other, 1);
    await pauseRun(api.app.db, first);
    await cancelRun(api.app.db, second, api.app.clock.now());
    const of = async (query: string) => (await api.call('GET', `/import_runs/?${query}`)).body;
    expect(idsOf(await of('state=paused,cancelled'))).toEqual([second, first]);
    expect(idsOf(await of(`state=queued&plugin_config=${one}`))).toEqual([third]);
    expect(await of('limit=1')).toMatchObject({
      by_state: { paused: 1, cancelled: 1, queued: 2 },
      results: [{ id: fourth, plugin_config: other, config_name: 'Test source', state: 'queued' }],
    });
    expect((await of(`plugin_config=${other}`))['by_state']).toEqual({ queued: 1 });
    const { source } = ((await of('limit=1'))['results'] as { source: string }[])[0] ?? {};
    expect(idsOf(await of(`source=${source}&state=queued`))).toEqual([fourth, third]);
    expect(await of('source=mixpanel')).toMatchObject({ by_state: {}, results: [] });
  });

  it.each([
    ['state=lost', 'state'],
    ['cursor=x', 'cursor'],
    ['plugin_config=x', 'plugin_config'],
  ])('refuses %s', async (query, attr) => {
    await using api = await startImportsApp();
    expect(await api.call('GET', `/import_runs/?${query}`)).toMatchObject({ status: 400, body: { attr } });
  });
});
