import { describe, expect, it } from 'vitest';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { TransformError, type TransformOutcome } from '../transform.ts';
import { transformEvents } from '../stages/check/segment/transform-events.ts';
import { openTransform, type TransformPlace } from './open-transform.ts';

const unused = (): never => {
  throw new Error('expected a transformation of this program');
};
const place: TransformPlace = {
  sandbox: { open: unused },
  fetch: unused,
  geoip: { geoip: { locate: () => ({ country: { iso_code: 'CH' } }) }, geoipProblem: '' },
  now: () => 0,
};

function eventOf(event: string, properties: WireEvent['properties'] = {}): WireEvent {
  const uuid = '01900000-0000-7000-8000-000000000001';
  return { uuid, event, distinct_id: 'u', timestamp: '2024-01-02 03:04:05', properties };
}

async function run(
  slug: string,
  events: readonly WireEvent[],
  { settings = {}, ...more }: Partial<TransformPlace> & { readonly settings?: SettingValues } = {},
): Promise<{ readonly outcomes: readonly TransformOutcome[]; readonly refused: ReadonlySet<string> }> {
  const code = builtInPlugins.find((plugin) => plugin.slug === slug);
  if (code?.kind !== 'transformation') throw new Error(`expected a transformation ${slug}`);
  const subject = { code, fields: code.fields, settings, attachments: new Map(), configId: 0 };
  const transform = openTransform({ ...place, ...more }, subject, { name: slug, projectId: 1, receivedAt: 0 });
  const opened = await transform.open();
  const outcomes = await transformEvents(transform, opened, events);
  return { outcomes, refused: opened.refused };
}

describe('a built-in transformation as the transform of an import', () => {
  it('geoip works, although every imported event has the mark that excludes it from the target', async () => {
    const marked = { $ip: '198.51.100.7', $geoip_disable: true, $import_source: 'x' };
    const { outcomes } = await run('geoip', [eventOf('seen', marked)]);
    expect(outcomes).toMatchObject([{ kind: 'kept', event: { properties: { $geoip_country_code: 'CH', ...marked } } }]);
  });

  it('an unchanged event stays identical, with its time as the source wrote it', async () => {
    const event = eventOf('kept', { n: 1, $geoip_disable: true });
    const { outcomes } = await run('drop-events', [eventOf('test'), event], { settings: { events: 'test' } });
    expect(outcomes).toEqual([{ kind: 'dropped' }, { kind: 'kept', event }]);
    expect(outcomes[1]).toHaveProperty('event.timestamp', '2024-01-02 03:04:05');
  });

  it('a transformation that needs to remember events is refused by name', async () => {
    const { outcomes, refused } = await run('first-time-events', [eventOf('seen')], { settings: { events: 'seen' } });
    expect(outcomes).toMatchObject([{ kind: 'failed', code: 'transform_failed' }]);
    expect([...refused]).toEqual([expect.stringMatching(/^storage\./)]);
  });

  it('only transforms events that pass the filter of its config', async () => {
    const $filter = { events: ['order *'], properties: [{ property: 'plan', operator: 'is', value: 'test' }] };
    const events = [eventOf('order done', { plan: 'test' }), eventOf('order done', { plan: 'pro' }), eventOf('seen')];
    const { outcomes } = await run('drop-events', events, { settings: { events: 'order done, seen', $filter } });
    expect(outcomes).toMatchObject([{ kind: 'dropped' }, { kind: 'kept' }, { kind: 'kept' }]);
  });

  it('a filter that cannot be read is named', async () => {
    const settings = { events: 'seen', $filter: { event: ['seen'] } };
    await expect(run('drop-events', [], { settings })).rejects.toThrow(/"\$filter": expected "events"/);
  });

  it('a missing setting is named', async () => {
    await expect(run('drop-events', [])).rejects.toThrow(TransformError);
  });
});
