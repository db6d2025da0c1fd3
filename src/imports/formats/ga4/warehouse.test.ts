import { describe, expect, it } from 'vitest';
import { ga4 } from './ga4.ts';
import { ga4Records } from './records.fixture.ts';
import { checkRecords, eventFrom, eventsOf, readAll, readHostile } from '../../../../test/support/format-check.ts';
import { asCsvRow, inCapitals, loadedBy, sqlTime, type Row } from '../../../../test/support/warehouse-rows.ts';

/** A row of BigQuery with its records flattened: `device_web_info_browser`. */
function flattened(row: Row, prefix = ''): Row {
  return Object.fromEntries(
    Object.entries(row).flatMap(([key, value]): (readonly [string, unknown])[] => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[`${prefix}${key}`, value]];
      return Object.entries(flattened(value as Row, `${prefix}${key}_`));
    }),
  );
}

interface Parameter {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function columnsOf(parameters: unknown, prefix: string): Row {
  return Object.fromEntries(
    (parameters as readonly Parameter[]).map(({ key, value }) => {
      const found = Object.values(value).find((each) => each !== null && each !== undefined);
      return [`${prefix}${key}`, key === 'ga_session_id' ? Number(found) : found];
    }),
  );
}

function microsTime(micros: number): string {
  return `${sqlTime(Math.floor(micros / 1000))}${String(micros % 1000).padStart(3, '0')}`;
}

/** A row as Fivetran stores it. */
function asFivetranRow(row: Row, load = 1): Row {
  const { event_params, user_properties, items: _, event_name, event_timestamp, ...columns } = row;
  const { event_date, event_bundle_sequence_id, user_first_touch_timestamp, ...rest } = flattened(columns);
  return loadedBy(
    {
      date: event_date,
      name: event_name,
      timestamp: microsTime(Number(event_timestamp)),
      bundle_sequence_id: event_bundle_sequence_id,
      user_first_touch_timestamp: microsTime(Number(user_first_touch_timestamp)),
      ...rest,
      ...columnsOf(event_params, 'param_'),
      ...columnsOf(user_properties, 'user_property_'),
    },
    load,
  );
}

/** A row as dbt packages store it: the parameters next to the columns of the event. */
function asDbtRow(row: Row): Row {
  const { event_params, user_properties, items: _, ...columns } = row;
  return {
    ...flattened(columns),
    ...columnsOf(event_params, ''),
    ...columnsOf(user_properties, 'user_property_'),
  };
}

const exported = [...ga4Records(5, 600)];
const expected = eventsOf(readAll(ga4, exported));

describe('flattened rows of GA4', () => {
  it.each<[string, (row: Row) => Row]>([
    ['Fivetran', asFivetranRow],
    ['Fivetran in Snowflake, names in capitals', (row) => inCapitals(asFivetranRow(row))],
    ['dbt', asDbtRow],
  ])('%s: each row gives the events of the export, with the same ids', (_name, shape) => {
    // Names of parameters come in capitals, too, and go back to lower case.
    expect(eventsOf(checkRecords(ga4, exported.map(shape)))).toEqual(expected);
  });

  it('a CSV gives the same events; numeric parameters of Google become numbers', () => {
    const rows = exported.map((row) => asCsvRow(asFivetranRow(row)));
    const names = (events: readonly { uuid: string; timestamp: string }[]) =>
      events.map(({ uuid, timestamp }) => [uuid, timestamp]);
    expect(names(eventsOf(checkRecords(ga4, rows)))).toEqual(names(expected));
    const row = {
      ...rows[0],
      name: 'scroll',
      param_percent_scrolled: '90',
      param_code: '007',
      user_ltv_revenue: '1.5',
    };
    expect(eventFrom(ga4, row).properties).toMatchObject({
      percent_scrolled: 90,
      code: '007',
      $set: { user_ltv_revenue: 1.5 },
    });
  });

  it('rows without a position in the batch: equal rows are two events, and another load gives the same ids', () => {
    const rows = [...ga4Records(3, 60, 1, false)].flatMap((row) => [asFivetranRow(row, 1), asFivetranRow(row, 1)]);
    const events = eventsOf(checkRecords(ga4, rows)).filter(({ event }) => event !== '$identify');
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(events.length);
    const again = [...ga4Records(3, 60, 1, false)].flatMap((row) => [asFivetranRow(row, 2), asFivetranRow(row, 2)]);
    expect(eventsOf(readAll(ga4, again))).toEqual(eventsOf(readAll(ga4, rows)));
  });

  it('becomes an event or is rejected with a reason, whatever a column contains', () => {
    const bare = readHostile(ga4, asFivetranRow(exported[0] ?? {}));
    expect(new Set(bare)).toEqual(new Set(['unreadable']));
  });
});
