import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { liveStages, type LiveEvent } from '../wire/contract/live-events.ts';
import { Tap } from './live/tap.ts';
import type { Sightings, Watch } from './live/watch.ts';
import { definePlugin, type TransformationPlugin } from '../plugins/plugin.ts';
import { secretMask } from '../plugins/fields.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';

function plugin(slug: string, create: TransformationPlugin['create']): TransformationPlugin {
  const example = { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null };
  const fields = [{ key: 'key', name: 'Key', type: 'string', secret: true }] as const;
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

const plugins = [
  plugin('sign', (settings) => (event) => {
    event.properties['signed'] = `with ${String(settings['key'])}`;
    return event;
  }),
  plugin('unsign', () => (event) => {
    delete event.properties['signed'];
    return event;
  }),
  plugin('drop', () => (event) => (event.event === 'drop me' ? null : event)),
  plugin('fail', (settings) => (event) => {
    if (event.properties['fail'] === true) throw new Error(`no luck with ${String(settings['key'])}`);
    return event;
  }),
];

let bench: Bench;
let tap: Tap;
let published: Sightings[];
beforeEach(async () => {
  tap = new Tap();
  published = [];
  bench = await createBench({ plugins, live: { tap, publish: (sightings) => void published.push(sightings) } });
});
afterEach(() => bench[Symbol.asyncDispose]());

function watch(changes: Partial<Watch> = {}): void {
  const everything = { stages: liveStages, event: undefined, distinctId: undefined, steps: false, perSecond: 100 };
  tap.watch([{ id: 1, projectId: bench.projectId, ...everything, ...changes }]);
}

async function send(...events: object[]): Promise<void> {
  const batch = events.map((each, at) =>
    Object.assign({ event: 'seen', distinct_id: 'p', uuid: uuid(at), timestamp: '2026-11-20T11:00:00Z' }, each),
  );
  await bench.append('live', { batch }, { events: batch.length });
  await bench.drain();
}

const seen = () => published.flatMap((each) => each.seen).map(({ json }) => JSON.parse(json) as LiveEvent);
const ends = () => seen().map(({ stage, event, reason }) => [stage, event, reason]);

describe('what readers of the live stream see of the pipeline', () => {
  it('nothing is collected or published while no reader watches the project', async () => {
    watch({ projectId: 999 });
    await bench.addTransformation('drop');
    await send({}, { event: 'drop me' });
    expect(published).toEqual([]);
  });

  it('every event ends as stored, dropped or a dead letter, once, with its reason', async () => {
    watch();
    const id = await bench.addTransformation('drop');
    await send({ properties: { n: 1 } }, { event: 'drop me' }, { event: 'bad', properties: 7 });
    expect(ends().sort()).toEqual([
      ['dead_letter', 'bad', 'malformed_event_properties'],
      ['dropped', 'drop me', 'event_dropped_by_transformation'],
      ['stored', 'seen', null],
      ['transformed', 'seen', null],
    ]);
    const [letter] = await bench.deadLetters();
    expect(seen().find(({ stage }) => stage === 'dead_letter')).toMatchObject({ dead_letter: letter?.id });
    expect(seen().find(({ stage }) => stage === 'dropped')).toMatchObject({ detail: `dropped by drop (${id})` });
  });

  it('events that are copied as bytes are shown as they are stored, with every digit of their numbers', async () => {
    watch();
    const text = '{"event":"seen","distinct_id":"p","uuid":"UUID","properties":{"n":12345678901234567890,\n"o":1}}';
    await bench.append('live', `{"batch":[${text.replace('UUID', uuid(1))}]}`);
    await bench.drain();
    const [json = ''] = published.flatMap((each) => each.seen).map((each) => each.json);
    expect(json).toContain('"n":12345678901234567890');
    expect(json).not.toContain('\n');
    expect(JSON.parse(json)).toMatchObject({
      stage: 'stored',
      uuid: uuid(1),
      distinct_id: 'p',
      historical_migration: false,
      received_at: new Date(receivedAt).toISOString().replace('Z', '000Z'),
      steps: null,
    });
  });

  it('nothing is published before the window is stored, and a window that is computed again is published once', async () => {
    watch();
    let failures = 0;
    bench.setFailpoint((name) => {
      if (name !== 'before_insert' || failures > 0) return;
      failures += 1;
      expect(published).toEqual([]);
      throw new Error('the store is unavailable');
    });
    await send({});
    expect(failures).toBe(1);
    expect(ends()).toEqual([['stored', 'seen', null]]);
  });

  it('shows the path through the transformations, and the result is the same as without readers', async () => {
    const sign = await bench.addTransformation('sign', { key: 's3cret' });
    await bench.addTransformation('fail', { key: 's3cret' });
    await bench.addTransformation('unsign');
    const event = { properties: { fail: true, a: 1 } };
    await send(event);
    watch({ steps: true });
    await send({ ...event, uuid: uuid(50) });
    const [before, after] = bench.recording.rows.map(({ properties }) => properties);
    expect(after).toBe(before);
    const transformed = seen().find(({ stage }) => stage === 'transformed');
    expect(transformed?.before?.properties).toMatchObject({ a: 1 });
    expect(transformed?.steps?.map(({ outcome }) => outcome)).toEqual(['succeeded', 'failed', 'succeeded']);
    expect(transformed?.steps?.[0]).toMatchObject({ config_id: sign, label: `sign (${sign})`, error: null });
    expect(transformed?.steps?.[0]?.after?.properties).toHaveProperty('signed');
    expect(transformed?.steps?.[2]?.after?.properties).not.toHaveProperty('signed');
    expect(seen().find(({ stage }) => stage === 'stored')?.steps).toHaveLength(3);
  });

  it('plugin secrets appear neither in the result of a step nor in an error', async () => {
    watch({ steps: true });
    await bench.addTransformation('sign', { key: 's3"cret' });
    await bench.addTransformation('fail', { key: 's3"cret' });
    await bench.addTransformation('unsign');
    await send({ properties: { fail: true, n: 12345678901234567890n.toString() } });
    const text = published.flatMap((each) => each.seen.map(({ json }) => json)).join('');
    expect(text).not.toContain('cret');
    const [step] = seen().find(({ stage }) => stage === 'transformed')?.steps ?? [];
    expect(step?.after?.properties?.['signed']).toBe(`with ${secretMask}`);
  });

  it('a dropped event shows the path up to the drop', async () => {
    watch({ steps: true, stages: ['dropped'] });
    await bench.addTransformation('sign', { key: 'k' });
    await bench.addTransformation('drop');
    await bench.addTransformation('unsign');
    await send({ event: 'drop me' });
    expect(seen().map(({ steps }) => steps?.map(({ outcome }) => outcome))).toEqual([['succeeded', 'dropped']]);
  });

  it('events beyond the limit of a reader are counted exactly', async () => {
    watch({ perSecond: 5, stages: ['stored'] });
    await send(...Array.from({ length: 500 }, (_, at) => ({ uuid: uuid(at) })));
    const skipped = published.flatMap((each) => each.skipped).reduce((sum, { count }) => sum + count, 0);
    expect(seen().length).toBeGreaterThanOrEqual(5);
    expect(seen().length + skipped).toBe(500);
  });
});
