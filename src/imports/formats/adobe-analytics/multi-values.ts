import { asNumber, setMember, type Properties } from '../read-values.ts';

/**
 * Separators of columns with several values (event_list, product_list, mvvars). A caret escapes a comma, semicolon, equals sign
 * or another caret.
 * https://experienceleague.adobe.com/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-spec-chars.html
 */
type Separator = ',' | ';' | '=' | '|';

/** Splits at each unescaped separator; the pieces keep their escapes. */
export function splitEscaped(text: string, separator: Separator): readonly string[] {
  if (!text.includes('^')) return text.split(separator);
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '^') at += 1;
    else if (text[at] === separator) {
      pieces.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...pieces, text.slice(from)];
}

export function unescaped(text: string): string {
  return text.replaceAll(/\^([,;=^])/g, '$1');
}

const numbers: ReadonlySet<string> = new Set(['quantity', 'revenue']);
const assigned: ReadonlySet<string> = new Set(['events', 'evars']);

/** Parses products in the form `category;product;quantity;revenue;events;eVars`, separated by commas. */
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

/** Parses `event1=2|event2=3.5` as an object; other texts stay. */
function assignmentsOf(text: string): unknown {
  const found: Properties = {};
  for (const each of splitEscaped(text, '|')) {
    const [name = '', value, ...more] = splitEscaped(each, '=');
    if (name === '' || value === undefined || more.length > 0) return unescaped(text);
    setMember(found, name, name.startsWith('event') ? asNumber(unescaped(value)) : unescaped(value));
  }
  return found;
}

/** One event of `event_list`; a hit may have any number. */
export interface SuccessEvent {
  readonly name: string;
  /** The text after `=`: a counter or an amount. */
  readonly value: string | undefined;
}

/** Names that every report suite has; custom ones are in the lookup file. */
const standard: ReadonlyMap<string, string> = new Map([
  ['1', 'Purchase'],
  ['2', 'Product View'],
  ['10', 'Cart Open'],
  ['11', 'Checkout'],
  ['12', 'Cart Add'],
  ['13', 'Cart Remove'],
  ['14', 'Cart View'],
]);

const purchase = '1';

/** Parses `1,201=2.50,100`. Instances of eVars (100 to 199, 10000 and above) only repeat the eVars and are dropped. */
export function readEventList(
  list: unknown,
  names: ReadonlyMap<string, string>,
  isDuplicatePurchase: boolean,
): readonly SuccessEvent[] {
  if (typeof list !== 'string') return [];
  return list.split(',').flatMap((each): readonly SuccessEvent[] => {
    const [id = '', value] = each.trim().split('=');
    if (id === '' || isInstance(Number(id)) || (id === purchase && isDuplicatePurchase)) return [];
    return [{ name: names.get(id) ?? standard.get(id) ?? customName(Number(id)) ?? `event_list ${id}`, value }];
  });
}

function isInstance(id: number): boolean {
  return (id >= 100 && id < 200) || (id >= 10_000 && id < 20_000);
}

/** 200 is event1, 299 is event100, 20100 is event101. */
function customName(id: number): string | undefined {
  if (id >= 200 && id < 300) return `Custom Event ${id - 199}`;
  return id >= 20_100 && id < 21_000 ? `Custom Event ${id - 19_999}` : undefined;
}
