import { asNumber } from '../read-values.ts';

/** `category;product;quantity;revenue;events;eVars`, one after the other between commas. */
export function readProducts(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (typeof list !== 'string') return [];
  return list.split(',').flatMap((each) => {
    const [category = '', product = '', quantity = '', revenue = '', events = '', evars = ''] = each.split(';');
    const members = Object.entries({ category, product, quantity, revenue, events, evars }).filter(
      ([, value]) => value !== '' && !value.includes('::hash::0'),
    );
    const numbers = new Set(['quantity', 'revenue']);
    return members.length === 0
      ? []
      : [Object.fromEntries(members.map(([key, value]) => [key, numbers.has(key) ? asNumber(value) : value]))];
  });
}
