import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { addWarnings } from '../../pipeline/warning-tally.ts';
import { ingestionWarningRoutes } from './ingestion-warnings.ts';

let app: TestApp;
let headers: { authorization: string };
const hourOf = (n: number): string => `2026-11-20T0${n}:00:00.000000Z`;

beforeAll(async () => {
  app = await startTestApp((db, { clock }) => ingestionWarningRoutes({ db, clock }));
  headers = { authorization: `Bearer ${await app.key(['ingestion_warning:read'])}` };
  const warning = (n: number, more: object = {}) => ({
    projectId: app.project.id,
    type: 'distinct_id_truncated' as const,
    hour: hourOf(n),
    count: n,
    lastSeen: `2026-11-20T0${n}:30:00.000000Z`,
    samples: [{ distinct_id: `<b>${n}</b>` }],
    ...more,
  });
  await addWarnings(
    app.db,
    [1, 2, 3, 4, 5].map((n) => warning(n)),
  );
  await addWarnings(app.db, [
    warning(5, { type: 'missing_distinct_id', count: 100 }),
    warning(6, { projectId: app.otherProject.id }),
  ]);
});
afterAll(() => app[Symbol.asyncDispose]());

const get = async (path: string) =>
  (await app.inject({ url: `/api/projects/@current/ingestion_warnings${path}`, headers })).json();
const getUrl = async (url: string) =>
  (await app.inject({ url: new URL(url).pathname + new URL(url).search, headers })).json();

describe('ingestion warnings', () => {
  it('are counted by type with a sparkline, within a time and of a severity', async () => {
    const { results } = await get('');
    expect(results.map(({ type, count }: { type: string; count: number }) => [type, count])).toEqual([
      ['missing_distinct_id', 100],
      ['distinct_id_truncated', 15],
    ]);
    expect(results[1]).toMatchObject({ severity: 'warning', last_seen: '2026-11-20T05:30:00.000000Z' });
    expect(results[1].sparkline).toEqual([1, 2, 3, 4, 5].map((n) => ({ hour: hourOf(n), count: n })));
    expect((await get('?severity=warning')).results).toHaveLength(1);
    expect((await get(`?after=${hourOf(2)}&before=${hourOf(4)}`)).results).toMatchObject([{ count: 5 }]);
    expect((await get('?before=soon')).attr).toBe('before');
  });

  it('of one type come hour by hour, in pages, each hour once', async () => {
    const first = await get('/distinct_id_truncated/?limit=2');
    expect(first).toMatchObject({ type: 'distinct_id_truncated', severity: 'warning', previous: null });
    expect(first.results).toEqual([
      { hour: hourOf(5), count: 5, last_seen: '2026-11-20T05:30:00.000000Z', samples: [{ distinct_id: '<b>5</b>' }] },
      expect.objectContaining({ hour: hourOf(4) }),
    ]);
    const seen: string[] = [];
    for (let page = first; ; page = await getUrl(page.next)) {
      seen.push(...page.results.map(({ hour }: { hour: string }) => hour));
      if (page.next === null) break;
    }
    expect(seen).toEqual([5, 4, 3, 2, 1].map(hourOf));
    expect((await get(`/distinct_id_truncated/?after=${hourOf(2)}&before=${hourOf(4)}`)).results).toHaveLength(2);
    expect((await get('/distinct_id_truncated/?cursor=x')).attr).toBe('cursor');
    expect((await get('/never_heard_of/')).results).toEqual([]);
  });
});
