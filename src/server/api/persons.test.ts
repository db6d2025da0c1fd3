import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wrongAnswers } from '../../../test/support/access-matrix.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { formatRegisters } from '../../pipeline/persons/registers-text.ts';
import type { Registers } from '../../pipeline/persons/registers.ts';
import { addWarnings } from '../../pipeline/warning-tally.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { groupRoutes } from './routes.ts';
import { ingestionWarningRoutes } from './ingestion-warnings.ts';
import { personRoutes } from './persons.ts';

let app: TestApp;
let routes: ApiRoute[];
let headers: { authorization: string };
beforeEach(async () => {
  app = await startTestApp((db, { clock }) => {
    const ingest = { accept: async () => {} };
    routes = [
      ...personRoutes({ db, clock }),
      ...groupRoutes({ db }),
      ...ingestionWarningRoutes({ db, clock }),
      ...deadLetterRoutes({ db, clock, ingest, eventBytesMax: 1_000_000 }),
    ];
    return routes;
  });
  headers = { authorization: `Bearer ${await app.key()}` };
  await fill(app.db, app.project.id, 'a');
  await fill(app.db, app.otherProject.id, 'b');
});
afterEach(() => app[Symbol.asyncDispose]());

const get = async (path: string) => {
  const answer = await app.inject({ url: `/api/projects/${app.project.id}/${path}`, headers });
  return { status: answer.statusCode, body: answer.json() };
};

async function fill(db: Metadata, projectId: number, prefix: string): Promise<void> {
  const persons = [1, 2, 3].map((n) => ({
    project_id: projectId,
    uuid: `${prefix}${n}`,
    created_at_micros: n * 1_000_000 + 5,
    is_identified: n === 1 ? 1 : 0,
    registers: `{"email":{"v":"${prefix}${n}@x","t":1,"k":"set"},"gone":{"v":null,"t":2,"k":"unset"}}`,
  }));
  await db.insertInto('persons').values(persons).execute();
  const ids = persons.flatMap(({ uuid }) =>
    ['', ' again'].map((more) => ({ distinct_id: `${uuid}${more}`, person_uuid: uuid })),
  );
  await db
    .insertInto('person_distinct_ids')
    .values(ids.map((row) => ({ project_id: projectId, distinct_id: row.distinct_id, person_uuid: row.person_uuid })))
    .execute();
  await db
    .insertInto('group_types')
    .values({ project_id: projectId, type_index: 1, name: `${prefix} company` })
    .execute();
  const groups = ['x', 'y'].map((key) => ({
    project_id: projectId,
    type_index: 1,
    group_key: `${prefix}${key}/ä`,
    created_at_micros: 0,
    registers: '{"a":{"v":1,"t":1,"k":"set"}}',
  }));
  await db.insertInto('groups').values(groups).execute();
}

const first = {
  id: 'a1',
  uuid: 'a1',
  name: 'a1@x',
  distinct_ids: ['a1', 'a1 again'],
  distinct_ids_total: 2,
  properties: { email: 'a1@x' },
  created_at: '1970-01-01T00:00:01.000005Z',
  is_identified: true,
};

describe('who may read', () => {
  it('only with the right key, scope and project', async () => {
    expect(await wrongAnswers(app, routes)).toEqual([]);
  });

  it('persons are searched by the beginning of an id, by uuid and by email, whatever LIKE makes of the text', async () => {
    const found = async (search: string): Promise<string[]> => {
      const { body } = await get(`persons/?search=${encodeURIComponent(search)}`);
      return body.results.map(({ uuid }: { uuid: string }) => uuid).sort();
    };
    expect(await found('a')).toEqual(['a1', 'a2', 'a3']);
    expect(await found('a2 ag')).toEqual(['a2']);
    expect(await found('a3@x')).toEqual(['a3']);
    for (const none of ['b1', 'A1 again', '%', '_', 'again', "' OR 1=1 --"]) expect(await found(none)).toEqual([]);
    expect((await get('persons/?search=a&limit=1&offset=1')).body).toMatchObject({ count: 3, results: [{}] });
  });

  it('groups are searched by what their key contains, in any case', async () => {
    const keys = async (search: string): Promise<string[]> => {
      const { body } = await get(`groups/?group_type_index=1&search=${encodeURIComponent(search)}`);
      return body.results.map(({ group_key }: { group_key: string }) => group_key);
    };
    expect(await keys('AX')).toEqual(['ax/ä']);
    expect(await keys('/')).toEqual(['ax/ä', 'ay/ä']);
    expect(await keys('%')).toEqual([]);
  });
});

describe('persons', () => {
  it('lists identified or anonymous ones with their number, also oldest first', async () => {
    const listed = async (query: string): Promise<unknown[]> => {
      const { body } = await get(`persons/?${query}`);
      return [body.count, ...body.results.map(({ uuid }: { uuid: string }) => uuid)];
    };
    expect(await listed('is_identified=true')).toEqual([1, 'a1']);
    expect(await listed('is_identified=false')).toEqual([2, 'a3', 'a2']);
    expect(await listed('is_identified=false&order=created_at')).toEqual([2, 'a2', 'a3']);
    expect(await listed('order=created_at&limit=1')).toEqual([3, 'a1']);
    expect(await listed('search=a&is_identified=true')).toEqual([1, 'a1']);
    expect((await get('persons/?order=name')).status).toBe(400);
  });

  it('lists those of the project, newest first, by page', async () => {
    const { body } = await get('persons/?limit=2');
    expect([body.count, body.results.map((each: { id: string }) => each.id)]).toEqual([3, ['a3', 'a2']]);
    expect((await get('persons/?limit=2&offset=2')).body.results).toEqual([first]);
    expect(body.next).toContain('offset=2');
  });

  it('finds the one of an id', async () => {
    expect((await get('persons?distinct_id=a1%20again')).body).toMatchObject({ count: 1, results: [first] });
    expect((await get('persons?distinct_id=b1')).body).toMatchObject({ count: 0, results: [] });
  });

  it('finds those of an email address: exactly that one, of this project', async () => {
    expect((await get('persons/?email=a1@x')).body).toMatchObject({ count: 1, results: [first] });
    expect((await get('persons/?email=a1@x&distinct_id=a2')).body.count).toBe(0);
    const none = ['A1@x', 'a1@', 'b1@x', '%', 'a_@x', ''].map((email) =>
      get(`persons/?email=${encodeURIComponent(email)}`),
    );
    expect((await Promise.all(none)).map(({ body }) => body.count)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('an address with quotes, backslashes and wildcards is text like any other', async () => {
    const email = String.raw`"50%\_a"@x`;
    const said: Registers = new Map([['email', { v: email, t: 1, k: 'set' }]]);
    const forms = ['single', 'grouped'] as const;
    const persons = forms.map((form, at) => ({
      project_id: app.project.id,
      uuid: `hostile ${form}`,
      created_at_micros: 9 - at,
      is_identified: 0,
      registers: formatRegisters(said, form),
    }));
    await app.db.insertInto('persons').values(persons).execute();
    const { body } = await get(`persons/?email=${encodeURIComponent(email)}`);
    expect(body.results.map((each: { id: string }) => each.id)).toEqual(['hostile single', 'hostile grouped']);
  });

  it('retrieves by uuid, and not from another project', async () => {
    expect((await get('persons/a1/')).body).toEqual(first);
    expect((await get('persons/b1')).status).toBe(404);
  });
});

describe('groups', () => {
  const group = {
    group_type_index: 1,
    group_key: 'ax/ä',
    group_properties: { a: 1 },
    created_at: '1970-01-01T00:00:00.000000Z',
  };

  it('lists types, and the groups of a type', async () => {
    expect((await get('groups_types')).body).toEqual([{ group_type: 'a company', group_type_index: 1 }]);
    const { body } = await get('groups?group_type_index=1');
    expect([body.count, body.results[0]]).toEqual([2, group]);
    expect((await get('groups?group_type_index=0')).body.count).toBe(0);
    expect(await get('groups')).toMatchObject({ status: 400, body: { code: 'required', attr: 'group_type_index' } });
    expect((await get('groups?group_type_index=5')).body.attr).toBe('group_type_index');
  });

  it('finds one by key', async () => {
    expect((await get(`groups/find?group_type_index=1&group_key=${encodeURIComponent('ax/ä')}`)).body).toEqual(group);
    expect((await get('groups/find?group_type_index=1&group_key=bx')).status).toBe(404);
  });
});

describe('ingestion warnings', () => {
  it('sums up by type since a time, with samples and hours', async () => {
    const at = (hour: number, count: number) => ({
      projectId: app.project.id,
      type: 'distinct_id_truncated' as const,
      hour: `2026-11-20T0${hour}:00:00.000000Z`,
      count,
      lastSeen: `2026-11-20T0${hour}:59:00.000000Z`,
      samples: [{ n: hour * 10 }, { n: hour * 10 + 1 }, { n: hour * 10 + 2 }],
    });
    await addWarnings(app.db, [at(7, 3), at(8, 4)]);
    await addWarnings(app.db, [
      { ...at(8, 1), samples: [{ n: 99 }] },
      { ...at(8, 9), projectId: app.otherProject.id },
    ]);
    const result = {
      type: 'distinct_id_truncated',
      severity: 'warning',
      meaning: 'The distinct_id was truncated to 200 characters.',
      count: 8,
      last_seen: '2026-11-20T08:59:00.000000Z',
      samples: [{ n: 99 }, { n: 80 }, { n: 81 }, { n: 82 }, { n: 70 }],
      sparkline: [
        { hour: '2026-11-20T07:00:00.000000Z', count: 3 },
        { hour: '2026-11-20T08:00:00.000000Z', count: 5 },
      ],
    };
    expect((await get('ingestion_warnings')).body).toEqual({ results: [result] });
    const later = await get('ingestion_warnings?after=2026-11-20T08:30:00Z');
    expect(later.body.results[0]).toMatchObject({ count: 5, sparkline: [{ count: 5 }] });
    expect(await get('ingestion_warnings?after=soon')).toMatchObject({ status: 400, body: { attr: 'after' } });
  });
});
