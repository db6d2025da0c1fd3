import { describe, expect, it } from 'vitest';
import { mixpanel } from './mixpanel.ts';
import { mixpanelRecords } from './records.fixture.ts';
import { checkRecords, eventFrom, eventsOf, readAll, readHostile } from '../../../../test/support/format-check.ts';
import {
  asCsvRow,
  inCapitals,
  loadedBy,
  sqlTime,
  withoutNulls,
  type Row,
} from '../../../../test/support/warehouse-rows.ts';

/** Properties that Mixpanel itself sets: with a `$` in the export, or in a dedicated member. */
const standard = /^(\$|mp_|time$|distinct_id$)/;

/** An event of the export as Fivetran stores it: its own properties in columns without `$`, the project's as JSON. */
function asFivetranRow(record: Row, load = 1): Row {
  const properties = record['properties'] as Row;
  const time = Number(properties['time']);
  const entries = Object.entries(properties);
  const columns = entries.filter(([key]) => standard.test(key)).map(([key, value]) => [key.replace('$', ''), value]);
  const own = Object.fromEntries(entries.filter(([key]) => !standard.test(key)));
  return loadedBy(
    {
      event_id: 7,
      name: record['event'],
      ...Object.fromEntries(columns),
      time: sqlTime(time < 1e11 ? time * 1000 : time),
      properties: JSON.stringify(own),
    },
    load,
  );
}

const exported = [...mixpanelRecords(5, 600)].filter((record) => record['properties'] !== undefined);
const withIds = exported.filter((record) => (record['properties'] as Row)['$insert_id'] !== undefined);

describe('flattened rows of Mixpanel', () => {
  it.each<[string, (row: Row) => Row]>([
    ['JSON lines or Parquet', (row) => row],
    ['names in capitals, as Snowflake has them', inCapitals],
  ])('%s: each row gives the events of the export, with the same ids', (_name, shape) => {
    expect(withIds.length).toBeGreaterThan(500);
    const rows = withIds.map((record) => shape(asFivetranRow(record)));
    expect(eventsOf(checkRecords(mixpanel, rows))).toEqual(withoutNulls(eventsOf(readAll(mixpanel, withIds))));
  });

  it('a CSV gives the same events; texts of an unknown type stay texts', () => {
    const record = { event: 'Paid', properties: { time: 1_609_459_200, distinct_id: 'u', $screen_width: 1920 } };
    const own = { price: '007', ok: 'true' };
    const row = { ...asCsvRow(asFivetranRow(record)), ...own, wifi: 'TRUE', insert_id: 'i' };
    const { properties } = eventFrom(mixpanel, row);
    expect(properties).toMatchObject({ $screen_width: 1920, $network_wifi: true, ...own });
    expect(properties).not.toHaveProperty('event_id');
  });

  it('another load of the same rows gives the same events, also of rows without insert_id', () => {
    const without = exported.slice(0, 50).map((record) => {
      const { $insert_id: _, ...properties } = record['properties'] as Row;
      return { event: record['event'], properties };
    });
    const load = (number: number) =>
      eventsOf(
        readAll(
          mixpanel,
          without.map((record) => asFivetranRow(record, number)),
        ),
      );
    expect(load(2)).toEqual(load(1));
  });

  const paid = { time: 1_609_459_200, distinct_id: 'u1', insert_id: 'i1' };
  it.each<[string, Row, Row]>([
    ['Airbyte', { event: 'Paid', ...paid, browser: 'Chrome', plan: 'pro' }, { $browser: 'Chrome', plan: 'pro' }],
    ['Stitch', { event: 'Paid', ...paid, mp_reserved_browser: 'Chrome' }, { $browser: 'Chrome' }],
    ['Data Pipelines', { event_name: 'Paid', ...paid, properties: '{"plan":"pro"}' }, { plan: 'pro' }],
    ['dlt', { event: 'Paid', ...paid, properties__plan: 'pro' }, { plan: 'pro' }],
  ])('%s', (_loader, row, expected) => {
    const event = eventFrom(mixpanel, row);
    expect(event).toMatchObject({ event: 'Paid', distinct_id: 'u1', timestamp: '2021-01-01T00:00:00.000Z' });
    expect(event.properties).toMatchObject(expected);
    const properties = { time: 1_609_459_200, distinct_id: 'u1', $insert_id: 'i1' };
    expect(event.uuid).toBe(eventFrom(mixpanel, { event: 'Paid', properties }).uuid);
  });

  it('the members of properties take precedence over the columns that a loader made of them', () => {
    const row = {
      name: 'x',
      time: '2021-01-01',
      distinct_id: 'u',
      insert_id: 'i',
      plan: 'old',
      properties: '{"plan":"new"}',
    };
    expect(eventFrom(mixpanel, row).properties).toMatchObject({ plan: 'new' });
  });

  it('becomes an event or is rejected with a reason, whatever a column contains', () => {
    const [record = {}] = withIds;
    expect(new Set(readHostile(mixpanel, asFivetranRow(record)))).toEqual(new Set(['unreadable']));
  });
});
