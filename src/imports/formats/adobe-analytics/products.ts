import { asNumber, setMember, type Properties } from '../read-values.ts';
import { splitEscaped, unescaped } from './multi-values.ts';

const numbers: ReadonlySet<string> = new Set(['quantity', 'revenue']);
const assigned: ReadonlySet<string> = new Set(['events', 'evars']);

/** `category;product;quantity;revenue;events;eVars`, one after the other between commas. */
export function readProducts(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (typeof list !== 'string') return [];
  return splitEscaped(list, ',').flatMap((each) => {
    const [category = '', product = '', quantity = '', revenue = '', events = '', evars = ''] = splitEscaped(each, ';');
    const members = Object.entries({ category, product, quantity, revenue, events, evars }).filter(
      ([, value]) => value !== '' && !value.includes('::hash::0'),
    );
    return members.length === 0 ? [] : [Object.fromEntries(members.map(([key, value]) => [key, valueOf(key, value)]))];
  });
}

function valueOf(key: string, text: string): unknown {
  if (numbers.has(key)) return asNumber(unescaped(text));
  return assigned.has(key) ? assignmentsOf(text) : unescaped(text);
}

/** `event1=2|event2=3.5` as an object; anything else as its text. */
function assignmentsOf(text: string): unknown {
  const found: Properties = {};
  for (const each of splitEscaped(text, '|')) {
    const [name = '', value, ...more] = splitEscaped(each, '=');
    if (name === '' || value === undefined || more.length > 0) return unescaped(text);
    setMember(found, name, name.startsWith('event') ? asNumber(unescaped(value)) : unescaped(value));
  }
  return found;
}
