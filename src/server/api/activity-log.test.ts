import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import type { ActivityEntry } from '../../wire/contract/activity.ts';
import { activityLogRoutes } from './activity-log.ts';
import { historicalMigrationRoutes } from './historical-migrations.ts';
import { personalApiKeyRoutes } from './personal-api-keys.ts';
import { projectRoutes } from './projects.ts';
import { userRoutes } from './users.ts';

let app: TestApp;
let headers: { authorization: string };
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetKey, forgetUser, forgetProject }, clock }) => [
    ...activityLogRoutes({ db }),
    ...projectRoutes({ db, clock, forgetProject }),
    ...personalApiKeyRoutes({ db, clock, forgetKey }),
    ...userRoutes({ db, clock, forgetUser }),
    ...historicalMigrationRoutes({ db, clock }),
  ]);
  headers = { authorization: `Bearer ${await app.key()}` };
});
afterEach(() => app[Symbol.asyncDispose]());

async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, by = headers) {
  const answer = await app.inject({ method, url, headers: by, ...(payload !== undefined && { payload }) });
  return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() };
}
const path = () => `/api/projects/${app.project.id}/activity_log`;
async function log(query = '', by = headers): Promise<ActivityEntry[]> {
  return (await call('GET', `${path()}?${query}`, undefined, by)).body.results;
}
const told = (entries: readonly ActivityEntry[]) => entries.map(({ scope, activity }) => `${scope} ${activity}`);

/** One change of each kind except plugins and imports, a minute apart. */
async function changeEverything(): Promise<void> {
  const steps = [
    () => call('PATCH', `/api/projects/${app.project.id}`, { name: 'Shop' }),
    () => call('PATCH', `/api/projects/${app.project.id}`, { name: 'Shop' }),
    () => call('POST', `/api/projects/${app.project.id}/reset_token`, {}),
    () => call('POST', '/api/personal_api_keys', { label: 'CI', scopes: ['plugin:write'] }),
    () => call('POST', '/api/users', { email: 'bob@example.com', role: 'viewer' }),
    async () => {
      const agreement = { source: 'old tool', method: 'import app', total_events: 10, events_per_second: 5 };
      const base = `/api/projects/${app.project.id}/historical_migrations`;
      const { body } = await call('POST', base, agreement);
      return call('POST', `${base}/${body.id}/approve`, { note: 'fine' });
    },
    () => call('DELETE', `/api/projects/${app.otherProject.id}`),
  ];
  for (const step of steps) {
    expect((await step()).status).toBeLessThan(300);
    app.clock.advance(60_000);
  }
}

describe('the activity log', () => {
  it('lists changes of projects, keys, users and agreements, newest first, without requests that changed nothing', async () => {
    await changeEverything();
    const entries = await log();
    expect(told(entries)).toEqual([
      'Project deleted',
      'HistoricalMigration approved',
      'HistoricalMigration filed',
      'User created',
      'PersonalApiKey created',
      'Project token_reset',
      'Project updated',
    ]);
    const renamed = entries.at(-1);
    expect(renamed).toMatchObject({
      item_id: String(app.project.id),
      user: { id: app.user.id, first_name: 'Ada' },
      key_label: 'test',
      is_system: false,
      detail: { name: 'Shop', changes: [{ field: 'name', action: 'changed', before: 'First', after: 'Shop' }] },
    });
    expect(entries[1]?.detail.changes.map(({ field, after }) => [field, after])).toEqual([
      ['state', 'approved'],
      ['note', 'fine'],
      ['decided_at', expect.any(String)],
    ]);
    for (const secret of [app.otherProject.apiToken, app.project.apiToken]) {
      expect(JSON.stringify(entries)).not.toContain(secret);
    }
  });

  it.each([
    ['scope=User', ['User created']],
    ['activity=deleted', ['Project deleted']],
    ['scope=Project&activity=updated', ['Project updated']],
    [
      'after=2026-11-20T10:04:00Z&before=2026-11-20T10:06:00Z',
      ['HistoricalMigration approved', 'HistoricalMigration filed', 'User created'],
    ],
    ['is_system=true', []],
    ['user=999', []],
  ])('filters by %s', async (query, expected) => {
    await changeEverything();
    expect(told(await log(query))).toEqual(expected);
  });

  it('filters by user, including deleted ones', async () => {
    const { body: bob } = await call('POST', '/api/users', { email: 'bob@example.com', role: 'editor' });
    const by = { authorization: `Bearer ${await app.key(['*'], { userId: bob.id })}` };
    await call('PATCH', `/api/projects/${app.project.id}`, { name: 'Bobs' }, by);
    await call('DELETE', `/api/users/${bob.id}`);
    const [entry, ...more] = await log(`user=${bob.id}`);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      activity: 'updated',
      user: { id: bob.id, first_name: 'bob (bob@example.com)', email: '' },
      key_label: null,
    });
  });

  it('pages by cursor without gaps or duplicates, with concurrent entries and equal times', async () => {
    const base = `/api/projects/${app.project.id}`;
    for (let n = 0; n < 7; n += 1) await call('PATCH', base, { name: `name ${n}` });
    const seen: string[] = [];
    let url: string | null = `${path()}?limit=3&scope=Project`;
    const sizes: number[] = [];
    while (url !== null) {
      const { body } = await call('GET', url);
      expect(body.previous).toBeNull();
      sizes.push(body.results.length);
      seen.push(...body.results.map(({ detail }: ActivityEntry) => String(detail.changes[0]?.after)));
      url = body.next === null ? null : body.next.slice(body.next.indexOf('/api/'));
      if (sizes.length === 1) await call('PATCH', base, { name: 'meanwhile' });
    }
    expect(sizes).toEqual([3, 3, 1]);
    expect(seen).toEqual(['name 6', 'name 5', 'name 4', 'name 3', 'name 2', 'name 1', 'name 0']);
  });

  it('still pages by offset on request', async () => {
    await changeEverything();
    const { body } = await call('GET', `${path()}?limit=3&offset=3`);
    expect(body).toMatchObject({ count: 7, next: expect.stringContaining('offset=6'), previous: expect.any(String) });
  });

  it('an entry shows the item at that time', async () => {
    await call('PATCH', `/api/projects/${app.project.id}`, { name: 'Then', timezone: 'Europe/Paris' });
    await call('PATCH', `/api/projects/${app.project.id}`, { name: 'Now' });
    const [, then] = await log();
    const { body } = await call('GET', `${path()}/${then?.id}`);
    expect(body).toMatchObject({ ...then, snapshot: { name: 'Then', timezone: 'Europe/Paris' } });
    const elsewhere = path().replace(`/${app.project.id}/`, `/${app.otherProject.id}/`);
    expect((await call('GET', `${elsewhere}/${then?.id}`)).status).toBe(404);
  });

  it('shows no organisation entries to a key limited to projects', async () => {
    await changeEverything();
    const limited = {
      authorization: `Bearer ${await app.key(['activity_log:read'], { projectIds: [app.project.id] })}`,
    };
    expect(told(await log('', limited))).toEqual([
      'HistoricalMigration approved',
      'HistoricalMigration filed',
      'Project token_reset',
      'Project updated',
    ]);
    const [user] = await log('scope=User');
    expect((await call('GET', `${path()}/${user?.id}`, undefined, limited)).status).toBe(404);
  });

  it.each(['cursor=abc', 'after=yesterday', 'scope=Nonsense', 'user=me'])('refuses %s', async (query) => {
    const { status, body } = await call('GET', `${path()}?${query}`);
    expect([status, body.attr]).toEqual([400, query.split('=')[0]]);
  });
});
