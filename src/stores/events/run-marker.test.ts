import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { findRun, runOfProperties } from './run-marker.ts';

const cases: readonly (readonly [properties: string, historical: boolean, run: string])[] = [
  ['{"a":1,"$import_run_id":"run-1"}', true, 'run-1'],
  ['{"a":1,"$import_run_id":"run-1"}', false, 'run-1'],
  ['{"a":1e400,"$import_run_id":"run-1"}', true, 'run-1'],
  ['{"a":"\\"}","$import_run_id":"run-1"}', true, 'run-1'],
  // A transformation added a property after it.
  ['{"$import_run_id":"run-1","a":1}', true, 'run-1'],
  ['{"$import_run_id":"run-1"}', true, 'run-1'],
  ['{"$import_run_id":"run-1"}', false, 'run-1'],
  ['{"$import_run_id":"run-1","a":1}', false, ''],
  ['{"a":",\\"$import_run_id\\":\\"x"}', true, ''],
  ['{"a":{"$import_run_id":"run-1"}}', true, ''],
  ['{"a":1,"$import_run_id":7}', true, ''],
  ['{"a":1,"$import_run_id":""}', true, ''],
  ['{"a":1}', true, ''],
  ['{}', false, ''],
  ['{"a":"é","$import_run_id":"run-é"}', true, 'run-é'],
];

function ofBytes(properties: string, historical: boolean): string {
  const before = Buffer.from('{"properties":');
  const json = Buffer.concat([before, Buffer.from(`${properties},"uuid":"x"}`)]);
  const to = before.length + Buffer.byteLength(properties);
  const run = findRun(json, before.length, to, historical);
  return typeof run === 'number' ? json.toString('utf8', run, to - 2) : run;
}

describe('the run named by properties', () => {
  it.each(cases)('of %s (history: %s) is "%s"', (properties, historical, run) => {
    expect(runOfProperties(properties, historical)).toBe(run);
    expect(ofBytes(properties, historical)).toBe(run);
  });

  it('is the same for texts and bytes of any properties', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('$import_run_id', ',"$import_run_id":"x', '"}'),
    );
    const dictionary = fc.dictionary(texts, fc.oneof(texts, fc.integer(), fc.dictionary(texts, texts)));
    fc.assert(
      fc.property(dictionary, fc.option(texts), fc.boolean(), (others, run, historical) => {
        const properties = JSON.stringify(run === null ? others : { ...others, $import_run_id: run });
        expect(ofBytes(properties, historical)).toBe(runOfProperties(properties, historical));
      }),
      { numRuns: 200 },
    );
  });
});

describe('the column import_run', () => {
  let chdb: TempChdb;
  beforeAll(async () => {
    chdb = await tempChdb();
  });
  afterAll(() => chdb.close());

  it('has the same value for old rows without it as the program writes for new ones', async () => {
    const expression =
      "SELECT default_expression AS sql FROM system.columns WHERE table = 'events' AND name = 'import_run'";
    const [column] = await chdb.store.query<{ sql: string }>(expression);
    for (const [properties, historical, run] of cases) {
      const [row] = await chdb.store.query<{ run: string }>(
        `SELECT ${column?.sql ?? ''} AS run FROM (SELECT {properties:String} AS properties, {historical:Bool} AS historical_migration)`,
        { properties, historical },
      );
      expect([properties, historical, row?.run]).toEqual([properties, historical, run]);
    }
  });
});
