import { describe, expect, it } from 'vitest';
import { amplitude } from './amplitude.ts';
import { amplitudeRecords } from './records.fixture.ts';
import { checkRecords, eventsOf, lastEventFrom, readAll, readHostile } from '../../../../test/support/format-check.ts';
import { asCsvRow, inCapitals, loadedBy, type Row } from '../../../../test/support/warehouse-rows.ts';

/** A line of the export as Fivetran stores it. */
function asFivetranRow({ $insert_id, adid, event_id, ...columns }: Row, load = 1): Row {
  return loadedBy({ _insert_id: $insert_id, ad_id: adid, id: event_id, ...columns }, load);
}

const exported = [...amplitudeRecords(5, 600)];
const withIds = exported.filter(({ uuid }) => uuid !== null);

describe('flattened rows of Amplitude', () => {
  it.each<[string, (row: Row) => Row]>([
    ['CSV', asCsvRow],
    ['CSV of Snowflake, names in capitals', (row) => inCapitals(asCsvRow(row))],
    [
      'Parquet with objects as JSON text',
      (row) => ({ ...row, event_properties: JSON.stringify(row['event_properties']) }),
    ],
  ])('%s: each row gives the events of the export, with the same ids', (_name, shape) => {
    const rows = withIds.map((record) => shape(asFivetranRow(record)));
    expect(eventsOf(checkRecords(amplitude, rows))).toEqual(eventsOf(readAll(amplitude, withIds)));
  });

  it('another load of the same rows gives the same events, also of rows without an id', () => {
    const nothing = { uuid: null, $insert_id: null };
    const without = exported.slice(0, 50).map((record) => Object.assign({}, record, nothing));
    const load = (number: number) =>
      eventsOf(
        readAll(
          amplitude,
          without.map((record) => asCsvRow(asFivetranRow(record, number))),
        ),
      );
    expect(load(2)).toEqual(load(1));
  });

  it('reads a column per member of an object, as dlt and Stitch write them', () => {
    const [record] = withIds;
    const { event_properties: _, user_properties: __, ...columns } = record ?? {};
    const row = { ...columns, event_properties__price: 7, user_properties__plan: 'pro', _sdc_batched_at: 'now' };
    expect(lastEventFrom(amplitude, row).properties).toMatchObject({ price: 7, $set: { plan: 'pro' } });
  });

  it('becomes an event or is rejected with a reason, whatever a column contains', () => {
    const bare = readHostile(amplitude, asFivetranRow(exported[0] ?? {}));
    expect(new Set(bare)).toEqual(new Set(['unreadable']));
  });
});
