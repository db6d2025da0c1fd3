import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';
import { rename } from '../plugins/transformations/rename.ts';
import { savePlan, findPlan } from '../stores/metadata/tracking-plans.ts';
import { readPlan } from '../wire/tracking-plan/read-plan.ts';
import { rulesPerHourMax } from './violation-tally.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await createBench({ plugins: [rename] });
});
afterEach(() => bench[Symbol.asyncDispose]());

async function save(plan: unknown): Promise<void> {
  const before = (await findPlan(bench.db, bench.projectId))?.version ?? 0;
  const text = plan === null ? null : JSON.stringify(readPlan(plan));
  await savePlan(bench.db, { projectId: bench.projectId, before, plan: text, userId: null, now: receivedAt });
}

const event = (n: number, name: string, properties: string | object = {}, more: object = {}): string => {
  const { properties: _, ...fields } = {
    event: name,
    distinct_id: `p${n}`,
    uuid: uuid(n),
    timestamp: new Date(receivedAt - 60_000 + n).toISOString(),
    properties: {},
    ...more,
  };
  const text = typeof properties === 'string' ? properties : JSON.stringify(properties);
  return `${JSON.stringify(fields).slice(0, -1)},"properties":${text}}`;
};
const send = (lane: 'live' | 'historical', ...events: readonly string[]): Promise<number> =>
  bench.append(lane, `{"batch":[${events.join(',')}]}`);

const paid = { name: 'paid', schema: { properties: { price: { type: 'integer' } }, required: ['price'] } };
const stored = (): string[] => bench.recording.rows.map((row) => row.event).sort();
const violations = async (): Promise<unknown[]> => {
  const rows = await bench.db.selectFrom('tracking_plan_violations').selectAll().orderBy('event').execute();
  return rows.map(({ event: name, property, rule, count }) => [name, property, rule, Number(count)]);
};
const warnings = async (): Promise<unknown> =>
  Object.fromEntries((await bench.warnings()).map(({ type, count }) => [type, Number(count)]));

describe('events of a project with a tracking plan', () => {
  it('are stored with policy warn, byte for byte as without a plan, and their violations are counted with samples', async () => {
    const events = [
      event(1, 'paid', '{"price": 1.50}'),
      event(2, 'paid', '{"price":12345678901234567890}'),
      event(3, 'seen'),
    ];
    await send('live', ...events);
    await bench.drain();
    const before = [...bench.recording.rows];
    await save({ events: [paid], unplanned_events: 'warn' });
    await send('live', ...events);
    await bench.drain();
    expect(bench.recording.rows.slice(before.length)).toEqual(before);
    expect(await violations()).toEqual([
      ['paid', 'price', 'type', 1],
      ['seen', '', 'unplanned_event', 1],
    ]);
    expect(await warnings()).toEqual({ tracking_plan_violated: 2 });
    const { samples } = await bench.db
      .selectFrom('tracking_plan_violations')
      .select('samples')
      .where('event', '=', 'paid')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(samples)).toMatchObject([
      { uuid: uuid(1), distinct_id: 'p1', detail: 'expected integer, got: 1.5', policy: 'warn' },
    ]);
  });

  it('are not stored with policy drop, and change no person', async () => {
    await save({ events: [paid], policy: 'drop', unplanned_events: 'drop' });
    await send('live', event(1, 'paid'), event(2, 'paid', { price: 1 }), event(3, 'seen'), event(4, '$pageview'));
    await send('historical', event(5, 'paid'));
    await bench.drain();
    expect(stored()).toEqual(['$pageview', 'paid']);
    expect([await bench.person('p1'), await bench.person('p3'), await bench.person('p5')]).toEqual(
      Array(3).fill(undefined),
    );
    expect(await warnings()).toEqual({ event_dropped_by_tracking_plan: 3 });
    expect(await bench.deadLetters()).toEqual([]);
  });

  it('become dead letters with their bytes and the reason with policy dead_letter', async () => {
    await save({ events: [paid], policy: 'dead_letter', unplanned_events: 'dead_letter' });
    const invalid = event(1, 'paid', '{"price": "12" }');
    await send('live', invalid, event(2, 'paid', { price: 1 }), event(3, 'seen'));
    await bench.drain();
    expect(stored()).toEqual(['paid']);
    const letters = await bench.deadLetters();
    expect(letters.map(({ reason }) => reason)).toEqual(Array(2).fill('event_refused_by_tracking_plan'));
    const letter = letters.find(({ event_uuid: id }) => id === uuid(1));
    expect([Buffer.from(letter?.original ?? []).toString(), letter?.detail, letter?.attr]).toEqual([
      invalid,
      'price: expected integer, got: "12"',
      'price',
    ]);
  });

  it('are validated as transformations left them', async () => {
    await bench.addTransformation('rename', { properties: '{"cost":"price"}' });
    await save({ events: [paid], policy: 'drop', unplanned_properties: 'drop' });
    await send('live', event(1, 'paid', { cost: 1 }), event(2, 'paid', { cost: 'x' }), event(3, 'seen', { cost: 1 }));
    await bench.drain();
    expect(await violations()).toEqual([['paid', 'price', 'type', 1]]);
    expect(stored()).toEqual(['paid', 'seen']);
  });

  it('that bypass transformations are validated with every digit', async () => {
    await bench.addTransformation('rename', { properties: '{"cost":"price"}' });
    const schema = { properties: { price: { maximum: 9007199254740992 } }, required: ['price'] };
    await save({ events: [{ name: '$snapshot', schema }] });
    const prices = ['9007199254740993', '9007199254740992', '1'];
    await send('live', ...prices.map((price, n) => event(n, '$snapshot', `{"price":${price}}`)));
    await bench.drain();
    expect(await violations()).toEqual([['$snapshot', 'price', 'maximum', 1]]);
  });

  it('are validated by a plan saved in the meantime, and no longer once it is removed', async () => {
    await send('live', event(1, 'paid'));
    await bench.drain();
    await save({ events: [paid], policy: 'drop' });
    await send('live', event(2, 'paid'));
    await bench.drain();
    await save(null);
    await send('live', event(3, 'paid'));
    await bench.drain();
    expect(stored()).toEqual(['paid', 'paid']);
    expect(await violations()).toEqual([['paid', 'price', 'required', 1]]);
  });

  it('identify persons although they violate the plan', async () => {
    await save({ events: [{ ...paid, name: '$identify' }], policy: 'drop', unplanned_events: 'drop' });
    await send(
      'live',
      event(1, '$identify', { $anon_distinct_id: 'device-1' }),
      event(2, '$create_alias', { alias: 'x' }),
    );
    await bench.drain();
    expect((await bench.person('device-1'))?.distinct_ids).toEqual(expect.arrayContaining(['p1', 'device-1']));
    expect(await violations()).toEqual([['$identify', 'price', 'required', 1]]);
  });

  it('with any number of names are counted in a limited number of rows, and none is lost', async () => {
    await save({ unplanned_events: 'warn' });
    const names = Array.from({ length: rulesPerHourMax + 700 }, (_, n) => `name ${n} \u0000 é😀`);
    for (let from = 0; from < names.length; from += 400) {
      await send('live', ...names.slice(from, from + 400).map((name, n) => event(from + n, name)));
      await bench.drain();
    }
    const rows = await bench.db.selectFrom('tracking_plan_violations').select(['rule', 'count']).execute();
    expect(rows.length).toBeLessThanOrEqual(rulesPerHourMax + 1);
    expect(rows.reduce((sum, { count }) => sum + Number(count), 0)).toBe(names.length);
    expect(rows.find(({ rule }) => rule === 'other')).toBeDefined();
  });

  it('with names in other spellings are found in the plan', async () => {
    const name = 'Käufe 😀 "a"';
    await save({ events: [{ ...paid, name }], unplanned_events: 'drop', policy: 'drop' });
    const escaped = event(1, name, { price: 1 }).replace(JSON.stringify(name), '"K\\u00e4ufe \\ud83d\\ude00 \\"a\\""');
    await send('live', escaped, event(2, name), event(3, 'Käufe'));
    await bench.drain();
    expect(stored()).toEqual([name]);
  });

  it('are counted by policy in the metrics', async () => {
    await save({ events: [{ ...paid, policy: 'drop' }], unplanned_events: 'warn' });
    await send('live', event(1, 'paid'), event(2, 'seen'), event(3, 'seen', { $set: { a: 1 } }));
    await bench.drain();
    const text = await bench.metrics.text();
    expect(text).toContain('millrace_tracking_plan_violations_total{policy="drop"} 1');
    expect(text).toContain('millrace_tracking_plan_violations_total{policy="warn"} 2');
  });
});
