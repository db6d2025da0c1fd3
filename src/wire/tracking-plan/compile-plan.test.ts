import { describe, expect, it } from 'vitest';
import { compilePlan, strictest, violationsMax } from './compile-plan.ts';
import type { PlanFault } from './plan-fault.ts';
import type { PlannedEvent, TrackingPlan } from './plan.ts';
import { PlanError, emptyPlan, readPlan } from './read-plan.ts';

const paid: PlannedEvent = {
  name: 'paid',
  schema: {
    type: 'object',
    properties: { price: { type: 'number', minimum: 0 }, plan: { enum: ['free', 'pro'] } },
    required: ['price'],
  },
};

function compiled(more: Partial<TrackingPlan>) {
  return compilePlan({ ...emptyPlan, events: [paid], ...more });
}

function found(more: Partial<TrackingPlan>, name: string, properties: object) {
  return compiled(more)
    .check(name, properties as Record<string, unknown>)
    .map(({ property, rule, policy }) => [property, rule, policy]);
}

describe('a tracking plan', () => {
  it('accepts what it describes', () => {
    expect(found({}, 'paid', { price: 1, plan: 'pro', $browser: 'x', more: 1 })).toEqual([]);
    expect(found({}, 'other', {})).toEqual([]);
  });

  it('reports every property that violates its schema', () => {
    expect(found({}, 'paid', { plan: 'PRO' })).toEqual([
      ['price', 'required', 'warn'],
      ['plan', 'enum', 'warn'],
    ]);
    expect(compiled({}).check('paid', { price: '12' })[0]?.detail).toBe('expected number, got: "12"');
  });

  it('applies the policy of the event, otherwise the default', () => {
    expect(found({ policy: 'drop' }, 'paid', {})).toEqual([['price', 'required', 'drop']]);
    const events = [{ ...paid, policy: 'dead_letter' }] as const;
    expect(found({ policy: 'drop', events }, 'paid', {})).toEqual([['price', 'required', 'dead_letter']]);
  });

  it('treats unplanned events and properties by their own rules, except those of client libraries', () => {
    const rules = { unplanned_events: 'drop', unplanned_properties: 'warn', policy: 'dead_letter' } as const;
    expect(found(rules, 'Paid', {})).toEqual([['', 'unplanned_event', 'drop']]);
    expect(found(rules, '$pageview', {})).toEqual([]);
    const violations = compiled(rules).check('paid', { prize: 1, $lib: 'web' });
    expect(violations.map(({ rule, policy }) => [rule, policy])).toEqual([
      ['required', 'dead_letter'],
      ['unplanned_property', 'warn'],
    ]);
    expect(strictest(violations)).toBe('dead_letter');
    const events = [{ ...paid, unplanned_properties: 'allow' }] as const;
    expect(found({ ...rules, events }, 'paid', { price: 1, prize: 1 })).toEqual([]);
  });

  it('only counts violations of events that change persons and groups', () => {
    const events = [{ name: '$identify', policy: 'drop', unplanned_properties: 'drop', schema: paid.schema }] as const;
    expect(found({ events }, '$identify', { x: 1 })).toEqual([
      ['price', 'required', 'warn'],
      ['x', 'unplanned_property', 'warn'],
    ]);
  });

  it('lists a limited number of violations per event', () => {
    const properties = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`p${n}`, n]));
    expect(found({ unplanned_properties: 'warn' }, 'paid', properties)).toHaveLength(violationsMax);
  });

  it('of names that objects inherit is like any other', () => {
    expect(found({ unplanned_events: 'warn' }, 'constructor', {})).toHaveLength(1);
    expect(found({ unplanned_properties: 'warn' }, 'paid', { price: 1, constructor: 1 })).toHaveLength(1);
  });
});

describe('a plan that cannot be used names each fault', () => {
  const schemaOf = (schema: unknown) => ({ events: [{ name: 'e', schema }] });
  const propertyOf = (schema: unknown) => schemaOf({ properties: { p: schema } });
  const nested = (levels: number): object => (levels === 0 ? {} : { items: nested(levels - 1) });
  it.each<[string, unknown, string]>([
    ['not an object', [], 'expected an object with "events", got: []'],
    [
      'an unknown field',
      { event: [] },
      'expected only unplanned_events, unplanned_properties, policy, events, got: "event"',
    ],
    ['an unknown policy', { policy: 'block' }, 'policy: expected warn, drop, dead_letter, got: "block"'],
    ['allow as policy', { policy: 'allow' }, 'policy: expected warn, drop, dead_letter, got: "allow"'],
    ['events as a map', { events: { a: {} } }, 'events: expected a list of events, got: {"a":{}}'],
    ['no name', { events: [{ schema: {} }] }, 'events.0.name: expected the name of an event'],
    [
      'a name twice',
      { events: [{ name: 'a' }, { name: 'a' }] },
      'events.1.name: expected each event once, got another "a"',
    ],
    ['an event that is never stored', { events: [{ name: '$$heatmap' }] }, 'expected an event that is stored'],
    [
      'too many events',
      { events: Array.from({ length: 1001 }, () => ({ name: 'a' })) },
      'expected at most 1000 events, got: 1001',
    ],
    ['a schema of another type', schemaOf({ type: 'array' }), 'events.0.schema.type: expected object'],
    ['closed properties', schemaOf({ additionalProperties: false }), 'expected "unplanned_properties" of the event'],
    ['a keyword that is not supported', propertyOf({ pattern: '^a' }), 'events.0.schema.properties.p: expected only'],
    ['a combination', propertyOf({ anyOf: [] }), 'got: "anyOf"'],
    ['an unknown type', propertyOf({ type: 'text' }), 'p.type: expected one or several of string, number'],
    ['a bound as text', propertyOf({ minimum: '1' }), 'p.minimum: expected a number, got: "1"'],
    [
      'a length below zero',
      propertyOf({ maxLength: -1 }),
      'p.maxLength: expected a whole number of 0 or more, got: -1',
    ],
    ['no values', propertyOf({ enum: [] }), 'p.enum: expected a list of 1 to 500 values'],
    ['an object as value', propertyOf({ const: {} }), 'p.const: expected a text, a number, true, false or null'],
    [
      'an unknown format',
      propertyOf({ format: 'ipv4' }),
      'p.format: expected date, date-time, email, uri, uuid, got: "ipv4"',
    ],
    ['a schema as text', propertyOf('string'), 'p: expected a JSON Schema as an object such as'],
    ['too many levels', propertyOf(nested(6)), 'expected at most 5 levels of "properties" and "items"'],
    [
      'a large schema',
      schemaOf({ description: 'x', properties: { p: { examples: ['x'.repeat(70_000)] } } }),
      'bytes of JSON',
    ],
  ])('%s', (_, plan, message) => {
    expect(() => readPlan(plan)).toThrow(message);
  });

  it('and all of them together', () => {
    const faults = (): readonly PlanFault[] => {
      try {
        readPlan({ policy: 1, events: [{ name: '' }, 7] });
        return [];
      } catch (error) {
        return error instanceof PlanError ? error.faults : [];
      }
    };
    expect(faults().map(({ path }) => path)).toEqual(['policy', 'events.0.name', 'events.1']);
  });

  it('a plan larger than the limit is refused as a whole', () => {
    const events = Array.from({ length: 20 }, (_, n) => ({
      name: `e${n}`,
      schema: { properties: { p: { examples: ['x'.repeat(60_000)] } } },
    }));
    expect(() => readPlan({ events })).toThrow('expected a plan of at most 1048576 bytes of JSON');
  });
});
