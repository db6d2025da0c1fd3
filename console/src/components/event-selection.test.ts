import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/api-error.ts';
import { describeSelection, everyEvent, selectionErrors, selectionOf } from './event-selection.ts';

describe('the fields of a selection of events', () => {
  it('select every event if they are empty', () => {
    expect(selectionOf(everyEvent)).toEqual({});
  });

  it('give names and ids as they are, once each, and every other condition', () => {
    const properties = [{ key: 'plan', operator: 'exact', value: 'pro' }] as const;
    const draft = {
      events: 'order "paid"\r\n\n order\norder "paid"',
      distinctIds: '9007199254740993123\nzoë ',
      personId: ' 0190a2b4-0000-7000-8000-000000000000',
      after: '2026-01-01 ',
      before: '2026-02-01T12:00Z',
      kind: 'live',
      importRun: 'run',
      properties,
    } as const;
    expect(selectionOf(draft)).toEqual({
      events: ['order "paid"', ' order'],
      distinct_ids: ['9007199254740993123', 'zoë '],
      person_id: '0190a2b4-0000-7000-8000-000000000000',
      after: '2026-01-01',
      before: '2026-02-01T12:00Z',
      historical_migration: false,
      import_run: 'run',
      properties,
    });
    expect(selectionOf({ ...everyEvent, kind: 'historical' })).toEqual({ historical_migration: true });
  });

  it('are described with every condition', () => {
    expect(describeSelection({})).toBe('');
    expect(
      describeSelection({
        events: ['order *', '$pageview'],
        distinct_ids: ['9007199254740993123'],
        person_id: '0190a2b4-0000-7000-8000-000000000000',
        after: '2026-01-01',
        before: '2026-02-01',
        historical_migration: false,
        import_run: 'run-1',
        properties: [
          { key: 'plan', value: ['pro', 7, null] },
          { key: 'price', operator: 'gte', value: '9007199254740993' },
          { key: 'coupon', operator: 'is_not_set' },
        ],
      }),
    ).toBe(
      'order *, $pageview; of 9007199254740993123; of person 0190a2b4-0000-7000-8000-000000000000; from 2026-01-01; before 2026-02-01; ' +
        'live; of import run run-1; plan is pro or 7 or null; price ≥ 9007199254740993; coupon is not set',
    );
  });

  it('are described with an ellipsis for each value that an erasure does not keep', () => {
    const properties = [
      { key: 'price "€"', operator: 'gte' },
      { key: 'plan' },
      { key: 'coupon', operator: 'is_set' },
    ] as const;
    expect(describeSelection({ properties: [...properties] })).toBe('price "€" ≥ …; plan is …; coupon is set');
  });

  it('show what the service reports about them', () => {
    const body = { code: 'invalid_input', detail: 'Expected a day or time.', attr: 'selection__after' } as const;
    const nested = { code: 'max_length', detail: 'Too long.', attr: 'selection__distinct_ids__3' } as const;
    const error = new ApiError(400, { ...body, errors: [nested, { ...body, attr: 'tables' }] });
    expect(selectionErrors(error)).toEqual({ after: body.detail, distinct_ids: nested.detail });
    expect(selectionErrors(new Error('offline'))).toEqual({});
  });
});
