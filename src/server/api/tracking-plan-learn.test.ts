import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { faults, plantFaults, ruleName, shopEvents } from '../../../test/support/planned-events.ts';
import { learnStored, stopImported, stopLive, storeEvents } from '../../../test/support/prove-plan.ts';
import type { PlanLearnResult } from '../../wire/contract/tracking-plan.ts';
import { compilePlan } from '../../wire/tracking-plan/compile-plan.ts';
import { parseExact } from '../../base/exact-json.ts';
import { trackingPlanLearnRoutes } from './tracking-plan-learn.ts';
import { trackingPlanRoutes } from './tracking-plan.ts';

const events = shopEvents(1, 3000);
let chdb: TempChdb;
let app: TestApp;
let key: string;
beforeAll(async () => {
  chdb = await tempChdb();
  app = await startTestApp((db, { clock }) => {
    const deps = { db, clock, store: chdb.store };
    return [...trackingPlanRoutes(deps), ...trackingPlanLearnRoutes(deps)];
  });
  key = await app.key();
  await storeEvents(chdb.store, app.project.id, events);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await chdb.close();
});

async function call(method: 'POST' | 'PUT', rest: string, payload: object) {
  const url = `/api/projects/${app.project.id}/tracking_plan/${rest}`;
  const response = await app.inject({ method, url, headers: { authorization: `Bearer ${key}` }, payload });
  return { status: response.statusCode, json: response.json() as PlanLearnResult & { readonly attr?: string } };
}
const learn = async (body: object = {}) => (await call('POST', 'learn/', body)).json;

describe('a plan learned from stored events', () => {
  it('has names, types, required properties and allowed values as they are stored', async () => {
    const { draft, seen, total, sampled, changes, left_out: leftOut } = await learn();
    const own = events.filter(({ event }) => !event.startsWith('$'));
    expect([total, sampled, leftOut]).toEqual([own.length, own.length, []]);
    expect(draft).toMatchObject({ policy: 'warn', unplanned_events: 'warn', unplanned_properties: 'warn' });
    const byName = new Map(draft.events?.map((event) => [event.name, event.schema]));
    expect([...byName.keys()].sort()).toEqual(['Order Completed', 'produkt gesehen – ü', 'search', 'signed_up']);
    expect(byName.get('signed_up')).toEqual({
      type: 'object',
      properties: {
        address: { type: 'object' },
        age: { type: ['integer', 'null'] },
        email: { type: 'string' },
        newsletter: { type: 'boolean' },
        plan: { type: 'string', enum: ['free', 'pro', 'team'] },
      },
      required: ['address', 'age', 'email', 'newsletter', 'plan'],
    });
    expect(byName.get('Order Completed')?.properties).toMatchObject({
      order_id: { type: 'integer' },
      total: { type: 'number' },
      coupon: { type: ['null', 'string'] },
      items: { type: 'array' },
    });
    expect(byName.get('produkt gesehen – ü')?.required).not.toContain('referrer');
    const referrer = seen
      .find(({ name }) => name.startsWith('produkt'))
      ?.properties.find(({ name }) => name === 'referrer');
    expect(referrer?.share).toBeCloseTo(0.6, 1);
    expect(changes.filter(({ kind }) => kind !== 'added')).toEqual([]);
  });

  it('is violated by none of the events it was learned from', async () => {
    const plan = compilePlan(await learnStored(chdb.store, app.project.id));
    const found = events.flatMap(({ event, properties }) =>
      plan.check(event, parseExact(properties) as Record<string, unknown>),
    );
    expect(found).toEqual([]);
  });

  it('finds twenty planted violations live and in the check of an import, and no other', async () => {
    const plan = await learnStored(chdb.store, app.project.id);
    const { events: all, planted } = plantFaults(shopEvents(2, 2000), 3);
    const [live, imported] = [await stopLive(plan, all), await stopImported(plan, all, 2)];
    const uuids = [...planted.keys()].sort();
    expect(uuids).toHaveLength(20);
    expect([...live.uuids].sort()).toEqual(uuids);
    expect([...imported.uuids].sort()).toEqual(uuids);
    expect(Object.fromEntries(live.rules)).toEqual(Object.fromEntries(faults.map((fault) => [ruleName(fault), 1])));
    expect([...imported.rules.values()]).toEqual(Array.from({ length: 20 }, () => 1));
    expect([live.stored, imported.stored]).toEqual([2000, 2000]);
  });

  it('adds what a saved plan lacks, changes nothing in it, and learns again only if that is wanted', async () => {
    const mine = {
      policy: 'drop',
      events: [
        {
          name: 'search',
          description: 'Mine.',
          policy: 'warn',
          schema: { properties: { query: { type: 'boolean' } } },
        },
        { name: 'never seen', schema: {} },
      ],
    };
    await call('PUT', '', mine);
    const added = await learn({ events: ['sea*'] });
    expect(added.draft).toMatchObject({ policy: 'drop', unplanned_events: 'allow' });
    expect(added.draft.events?.[0]).toMatchObject({
      description: 'Mine.',
      schema: { properties: { query: { type: 'boolean' } } },
    });
    expect(added.changes).toEqual(
      ['filters', 'results', 'took'].map((property) => ({ event: 'search', property, kind: 'added' })),
    );
    expect(added.version).toBe(1);
    const { draft } = await learn({ replace: true });
    expect(draft.events?.map(({ name }) => name).slice(0, 2)).toEqual(['search', 'never seen']);
    expect(draft.events?.[0]).toMatchObject({
      description: 'Mine.',
      policy: 'warn',
      schema: { properties: { query: { type: 'string' } } },
    });
  });

  it('reads a time range, and a sample of about the size that is wanted', async () => {
    const after = events[1000]?.timestamp;
    const later = events.slice(1000).filter(({ event }) => !event.startsWith('$')).length;
    expect((await learn({ after })).total).toBe(later);
    expect((await learn({ before: after })).total + later).toBe((await learn()).total);
    const { sampled, total } = await learn({ sample: 300 });
    expect(sampled).toBeGreaterThan(total / 20);
    expect(sampled).toBeLessThan(total / 5);
    expect(await call('POST', 'learn/', { after: 'yesterday' })).toMatchObject({
      status: 400,
      json: { attr: 'after' },
    });
    expect(await call('POST', 'learn/', { sample: 0 })).toMatchObject({ status: 400, json: { attr: 'sample' } });
  });

  it('learns nothing false from numbers that the store reads as texts, and from properties that are never set', async () => {
    const texts = [
      '{"n":1e999,"s":"1","never":null}',
      '{"n":123456789012345678901234,"s":"2"}',
      '{"n":-7,"s":"3","never":null}',
    ];
    const rows = texts.map((properties, n) => ({ ...shopEvents(9 + n, 1)[0], event: 'numbers', properties }));
    const project = app.otherProject.id;
    await storeEvents(chdb.store, project, rows as typeof events);
    const plan = await learnStored(chdb.store, project);
    const compiled = compilePlan(plan);
    const found = texts.flatMap((text) => compiled.check('numbers', parseExact(text) as Record<string, unknown>));
    expect(found).toEqual([]);
    expect(plan.events[0]?.schema.properties?.['never']).toEqual({});
    expect(compiled.check('numbers', { n: true })).toHaveLength(1);
  });
});
