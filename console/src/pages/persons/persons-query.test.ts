import { expect, it } from 'vitest';
import { firstColumns, propertiesOf } from './persons-query.ts';

it('the most frequent properties have columns, without those that name a person', () => {
  const persons = [
    { plan: 'pro', email: 'a@x' },
    { plan: 'free', country: 'FR' },
    { plan: 'free', country: 'DE', age: 3, zip: 1 },
  ];
  const names = propertiesOf(persons.map((properties) => ({ properties })));
  expect(names).toEqual(['plan', 'country', 'age', 'email', 'zip']);
  expect(firstColumns(names)).toEqual(['plan', 'country', 'age']);
});
