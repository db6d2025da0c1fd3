import { describe, expect, it } from 'vitest';
import { bodyOf, draftOf } from './export-draft.ts';

describe('the form of an export', () => {
  it('exports everything into the service by default', () => {
    expect(bodyOf(draftOf({}))).toEqual({
      tables: ['events'],
      selection: {},
      format: 'ndjson',
      shape: 'millrace',
      destination: { kind: 'service' },
    });
  });

  it('takes the filter of the page of events', () => {
    const properties = [{ key: 'plan', operator: 'exact', value: 'pro' }] as const;
    const search = { event: 'order "paid"', after: '2026-01-01', historical: false, import_run: 'run', properties };
    expect(bodyOf(draftOf(search)).selection).toEqual({
      events: ['order "paid"'],
      after: '2026-01-01',
      historical_migration: false,
      import_run: 'run',
      properties,
    });
  });

  it('sends only the fields of the chosen destination', () => {
    const fields = { bucket: ' exports ', account: 'left over', prefix: '' };
    expect(bodyOf({ ...draftOf({}), destination: 's3', fields }).destination).toEqual({
      kind: 's3',
      bucket: 'exports',
    });
  });
});
