import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import example from './example.json' with { type: 'json' };
import { rulesSchema } from './mapping.ts';
import { parseRules } from './rules.ts';

const validate = new Ajv2020({ strict: false }).compile(rulesSchema);
const needed = { event: 'e', distinct_id: 'd', timestamp: 't' };

function isTaken(rules: unknown): boolean {
  try {
    parseRules(JSON.stringify(rules));
    return true;
  } catch {
    return false;
  }
}

describe('the schema of mappings', () => {
  it.each<[boolean, unknown]>([
    [true, example.options.mapping],
    [true, { ...needed, timestamp: { path: 't', format: 's', zone: 'Europe/Berlin' } }],
    [true, { ...needed, properties: ['a', 'b'], others: true, nothing: ['NULL'], each: 'data', source: 'shop' }],
    [true, { ...needed, $set: { mail: { first: ['a', { constant: 1 }], default: 2 } }, skip: [{ if: 'x' }] }],
    [true, { records: 'events', ...needed }],
    [true, { records: 'persons', distinct_id: 'd', timestamp: { constant: '2026-11-28' } }],
    [
      true,
      { records: 'persons', distinct_id: 'd', timestamp: 't', others: '$set_once', $set: ['a'], anonymous_id: 'v' },
    ],
    [true, { records: 'groups', groups: { company: 'id' }, timestamp: 't', $group_set: ['plan'], uuid: 'id' }],
    [false, { records: 'persons', ...needed }],
    [false, { records: 'persons', distinct_id: 'd' }],
    [false, { records: 'persons', distinct_id: 'd', timestamp: 't', properties: ['a'] }],
    [false, { records: 'groups', groups: { a: 'x', b: 'y' }, timestamp: 't' }],
    [false, { records: 'groups', groups: { a: 'x' }, timestamp: 't', distinct_id: 'd' }],
    [false, { records: 'groups', groups: { a: 'x' }, timestamp: 't', others: '$set_once' }],
    [false, { records: 'users', ...needed }],
    [false, { ...needed, others: '$set_once' }],
    [false, { event: 'e' }],
    [false, { ...needed, misspelt: 'x' }],
    [false, { ...needed, event: { path: 'a', constant: 'b' } }],
    [false, { ...needed, event: { path: 'a', type: 'date' } }],
    [false, { ...needed, event: { path: 'a', zone: 'UTC' } }],
    [false, { ...needed, properties: 'a' }],
    [false, { ...needed, skip: [{ is: 1 }] }],
    [false, { ...needed, nothing: 'NULL' }],
  ])('validates as %s, like the parser: %j', (taken, rules) => {
    expect(isTaken(rules)).toBe(taken);
    expect(validate(rules)).toBe(taken);
  });
});
