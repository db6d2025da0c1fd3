import { describe, expect, it } from 'vitest';
import {
  draftOf,
  nameFault,
  rowsFault,
  rowsOf,
  schemaOf,
  withEvent,
  withoutEvent,
  type EventSchema,
} from './plan-form.ts';

const schema: EventSchema = {
  properties: {
    price: { type: 'number', minimum: 0 },
    coupon: { type: ['null', 'string'], maxLength: 20 },
    plan: { type: 'string', enum: ['free', 'pro'] },
    both: { type: ['string', 'integer'], enum: ['a,b', 1] },
    free: {},
  },
  required: ['price', 'never described'],
};

describe('the form of an event', () => {
  it('shows types, null, required properties and allowed values', () => {
    const shown = rowsOf(schema).map((row) => [row.name, row.type, row.isNullable, row.isRequired, row.values]);
    expect(shown).toEqual([
      ['price', 'number', false, true, ''],
      ['coupon', 'string', true, false, ''],
      ['plan', 'string', false, false, 'free, pro'],
      ['both', 'several', false, false, null],
      ['free', 'any', false, false, ''],
      ['never described', 'any', false, true, ''],
    ]);
  });

  it('keeps everything that it does not show', () => {
    const same = schemaOf({ description: 'kept', ...schema } as EventSchema, rowsOf(schema));
    expect(same).toEqual({
      description: 'kept',
      properties: { ...schema.properties, 'never described': {} },
      required: ['price', 'never described'],
    });
  });

  it('changes type, null, required and values', () => {
    const [price, coupon, plan] = rowsOf(schema);
    if (price === undefined || coupon === undefined || plan === undefined) throw new Error('expected rows');
    const rows = [
      { ...price, type: 'integer', isNullable: true, isRequired: false } as const,
      { ...coupon, type: 'any' } as const,
      { ...plan, values: ' free ,, team ' },
    ];
    expect(schemaOf(schema, rows)).toEqual({
      properties: {
        price: { type: ['null', 'integer'], minimum: 0 },
        coupon: { maxLength: 20 },
        plan: { type: 'string', enum: ['free', 'team'] },
      },
    });
  });

  it('refuses empty and repeated names', () => {
    const [row] = rowsOf(schema);
    if (row === undefined) throw new Error('expected a row');
    expect([rowsFault([row]), rowsFault([row, row]), rowsFault([{ ...row, name: '' }])]).toEqual([
      undefined,
      '"price" is listed twice.',
      'Every property needs a name.',
    ]);
  });
});

describe('a draft', () => {
  it('of a project without a plan reports nothing and has no events', () => {
    expect(draftOf(null)).toEqual({
      policy: 'warn',
      unplanned_events: 'allow',
      unplanned_properties: 'allow',
      events: [],
    });
  });

  it('gets, renames and loses events in their order', () => {
    const one = draftOf({ events: [{ name: 'a' }, { name: 'b' }] });
    const renamed = withEvent(one, 'a', { name: 'c', schema: {} });
    expect(withEvent(renamed, undefined, { name: 'd', schema: {} }).events.map(({ name }) => name)).toEqual([
      'c',
      'b',
      'd',
    ]);
    expect(withoutEvent(renamed, 'c').events.map(({ name }) => name)).toEqual(['b']);
    expect([nameFault(one, 'b', 'a'), nameFault(one, 'a', 'a'), nameFault(one, '', undefined)]).toEqual([
      'The plan already has this event.',
      undefined,
      'Expected the name of an event.',
    ]);
  });
});
