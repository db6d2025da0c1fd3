import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { isoMicros } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import { addViolations } from '../../pipeline/violation-tally.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import { activityLogRoutes } from './activity-log.ts';
import { trackingPlanRoutes } from './tracking-plan.ts';

let app: TestApp;
let key: string;
beforeEach(async () => {
  app = await startTestApp((db, { clock }) => [...trackingPlanRoutes({ db, clock }), ...activityLogRoutes({ db })]);
  key = await app.key();
});
afterEach(() => app[Symbol.asyncDispose]());

const path = (rest = '', project = app.project.id): string => `/api/projects/${project}/tracking_plan/${rest}`;

interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
}

async function call(method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, options: CallOptions = {}) {
  const { body, headers = {} } = options;
  const response = await app.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${options.key ?? key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.statusCode, etag: response.headers['etag'], text: response.body, json: response.json() };
}

const paid = { name: 'paid', schema: { properties: { price: { type: 'number' } }, required: ['price'] } };

describe('the tracking plan of a project', () => {
  it('is empty at first, then what was saved, with its version and author', async () => {
    expect(await call('GET', path())).toMatchObject({
      status: 200,
      etag: '"0"',
      json: { version: 0, plan: null, updated_at: null, updated_by: null },
    });
    const saved = await call('PUT', path(), { body: { events: [paid], unplanned_events: 'warn' } });
    expect(saved).toMatchObject({
      status: 200,
      etag: '"1"',
      json: {
        version: 1,
        plan: { policy: 'warn', unplanned_events: 'warn', unplanned_properties: 'allow', events: [paid] },
        updated_by: { id: app.user.id },
      },
    });
    expect((await call('GET', path())).json).toEqual(saved.json);
    expect((await call('GET', path('', app.otherProject.id))).json.version).toBe(0);
  });

  it('keeps every digit of its numbers', async () => {
    const schema = '{"properties":{"id":{"enum":[12345678901234567890,0.10000000000000000001]}}}';
    await call('PUT', path(), { body: `{"events":[{"name":"a","schema":${schema}}]}` });
    expect((await call('GET', path())).text).toContain('[12345678901234567890,0.10000000000000000001]');
  });

  it('is not overwritten by a client that has read an earlier version', async () => {
    await call('PUT', path(), { body: { events: [paid] }, headers: { 'if-match': '"0"' } });
    const late = await call('PUT', path(), { body: { events: [] }, headers: { 'if-match': '"0"' } });
    expect(late).toMatchObject({ status: 412, json: { code: 'precondition_failed' } });
    expect(late.json.detail).toContain('Expected If-Match with the version that applies, "1", got: "0"');
    expect((await call('DELETE', path(), { headers: { 'if-match': '"0"' } })).status).toBe(412);
    expect((await call('PUT', path(), { body: { events: [] }, headers: { 'if-match': '"1"' } })).json.version).toBe(2);
  });

  it('is saved once although two clients save at the same time', async () => {
    const plans = ['a', 'b', 'c', 'd'].map((name) => ({ events: [{ name }] }));
    const answers = await Promise.all(
      plans.map((body) => call('PUT', path(), { body, headers: { 'if-match': '"0"' } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
  });

  it('changes nothing if it is the same, and notifies pipelines if it is not', async () => {
    await call('PUT', path(), { body: { events: [paid] } });
    const revision = await readConfigRevision(app.db);
    expect((await call('PUT', path(), { body: { events: [paid], policy: 'warn' } })).json.version).toBe(1);
    expect(await readConfigRevision(app.db)).toBe(revision);
    await call('PUT', path(), { body: { events: [paid], policy: 'drop' } });
    expect(await readConfigRevision(app.db)).toBeGreaterThan(revision);
  });

  it('has versions that can be read and restored, also after it was removed', async () => {
    await call('PUT', path(), { body: { events: [paid] } });
    await call('PUT', path(), { body: { events: [] } });
    expect((await call('DELETE', path())).json).toMatchObject({ version: 3, plan: null });
    const { json } = await call('GET', path('versions/?limit=2'));
    expect(json.results.map(({ version, events }: Record<string, unknown>) => [version, events])).toEqual([
      [3, null],
      [2, 0],
    ]);
    expect(json).toMatchObject({ count: 3, next: expect.stringContaining('offset=2') });
    const { plan } = (await call('GET', path('versions/1/'))).json;
    expect((await call('PUT', path(), { body: plan })).json).toMatchObject({ version: 4, plan: { events: [paid] } });
    expect((await call('GET', path('versions/9/'))).status).toBe(404);
  });

  it('refuses an invalid plan with the place of every fault', async () => {
    const events = [{ name: 'a', schema: { properties: { p: { type: 'text', pattern: '^a' } } } }];
    const refused = await call('PUT', path(), { body: { events } });
    expect(refused).toMatchObject({
      status: 400,
      json: { code: 'invalid_input', attr: expect.stringContaining('events__0') },
    });
    expect(refused.json.errors.map(({ attr }: { attr: string }) => attr)).toEqual([
      'events__0__schema__properties__p__type',
      'events__0__schema__properties__p',
    ]);
    for (const body of [[], '{"events":{}}', { events: [7] }, { policy: 'block' }, { event: [] }]) {
      expect((await call('PUT', path(), { body })).status).toBe(400);
    }
    expect((await call('GET', path())).json.version).toBe(0);
  });

  it('is in the activity log, event by event', async () => {
    await call('PUT', path(), { body: { events: [paid, { name: 'seen' }] } });
    await call('PUT', path(), { body: { events: [{ ...paid, policy: 'drop' }], unplanned_events: 'drop' } });
    await call('DELETE', path());
    const { json } = await call('GET', `/api/projects/${app.project.id}/activity_log/?scope=TrackingPlan`);
    const activities = json.results.map(({ activity }: { activity: string }) => activity);
    expect(activities).toEqual(['deleted', 'updated', 'created']);
    const { changes } = json.results[1].detail;
    expect(changes.map(({ field, action }: Record<string, string>) => [field, action]).sort()).toEqual([
      ['events.paid', 'changed'],
      ['events.seen', 'deleted'],
      ['unplanned_events', 'changed'],
    ]);
  });

  it('is read with the scope to read and changed with the scope to write', async () => {
    const reader = await app.key(['tracking_plan:read']);
    const writer = await app.key(['tracking_plan:write']);
    const other = await app.key(['plugin:write', 'query:read']);
    const status = async (method: 'GET' | 'PUT', by: string): Promise<number> =>
      (await call(method, path(), { key: by, ...(method === 'PUT' && { body: {} }) })).status;
    expect([await status('GET', reader), await status('PUT', reader)]).toEqual([200, 403]);
    expect([await status('GET', writer), await status('PUT', writer)]).toEqual([200, 200]);
    expect([await status('GET', other), await status('PUT', other)]).toEqual([403, 403]);
    expect((await call('GET', path('', app.foreignProject.id))).status).toBe(404);
  });
});

describe('a test of events', () => {
  const events = '[{"event":"paid","properties":{"price":12345678901234567890}},{"event":"paid"},{"event":"other"}]';

  it('returns what would happen to each, by the stored plan', async () => {
    await call('PUT', path(), { body: { events: [paid], policy: 'dead_letter', unplanned_events: 'drop' } });
    const { json } = await call('POST', path('test/'), { body: `{"events":${events}}` });
    expect(json).toMatchObject({
      violating: 2,
      results: [
        { event: 'paid', outcome: 'stored', violations: [] },
        { event: 'paid', outcome: 'dead_letter', violations: [{ property: 'price', rule: 'required' }] },
        { event: 'other', outcome: 'drop', violations: [{ property: '', rule: 'unplanned_event' }] },
      ],
    });
  });

  it('by a plan that is not saved, and without one nothing is a violation', async () => {
    const plan = JSON.stringify({ unplanned_events: 'warn' });
    const drafted = await call('POST', path('test/'), { body: `{"events":${events},"plan":${plan}}` });
    expect(drafted.json.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['warn', 'warn', 'warn']);
    expect((await call('POST', path('test/'), { body: `{"events":${events}}` })).json.violating).toBe(0);
    const invalid = await call('POST', path('test/'), { body: `{"events":${events},"plan":{"policy":"x"}}` });
    expect(invalid).toMatchObject({ status: 400, json: { attr: 'plan__policy' } });
  });
});

describe('violations', () => {
  it('are listed by rule with samples and periods, the most frequent first', async () => {
    const now = app.clock.now();
    const row = (hoursAgo: number, event: string, rule: string, count: number) => ({
      projectId: app.project.id,
      hour: isoMicros(Math.floor(now / hourMs) * hourMs - hoursAgo * hourMs),
      event,
      property: rule === 'unplanned_event' ? '' : 'price',
      rule,
      count,
      lastSeen: isoMicros(now - hoursAgo * hourMs),
      samples: [{ event, uuid: `${hoursAgo}`, distinct_id: 'p', detail: rule, policy: 'warn', received_at: '' }],
    });
    const other = { ...row(0, 'paid', 'type', 9), projectId: app.otherProject.id };
    const rows = [row(1, 'paid', 'type', 3), row(0, 'paid', 'type', 2), row(30, 'seen', 'unplanned_event', 7), other];
    await addViolations(app.db, rows);
    await addViolations(app.db, [row(0, 'paid', 'type', 1)]);
    const { json } = await call('GET', path('violations/'));
    expect(json).toMatchObject({ count: 13, rules: 2 });
    expect(json.results).toMatchObject([
      { event: 'seen', property: '', rule: 'unplanned_event', count: 7 },
      { event: 'paid', property: 'price', rule: 'type', count: 6, periods: [{ count: 3 }, { count: 3 }] },
    ]);
    expect(json.results[1].samples[0].uuid).toBe('0');
    const day = await call('GET', path('violations/?event=paid&by=day'));
    const periods = day.json.results[0].periods as { start: string; count: number }[];
    expect(periods.reduce((sum, { count }) => sum + count, 0)).toBe(6);
    expect(periods.every(({ start }) => start.endsWith('T00:00:00.000000Z'))).toBe(true);
    const after = new Date(now - 2 * hourMs).toISOString();
    expect((await call('GET', path(`violations/?after=${after}&limit=1`))).json).toMatchObject({ count: 6, rules: 1 });
    expect((await call('GET', path('violations/?after=yesterday'))).status).toBe(400);
  });
});
