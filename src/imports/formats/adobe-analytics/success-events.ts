/** One of the events of `event_list`, which a hit may have any number of. */
export interface SuccessEvent {
  readonly name: string;
  /** What follows `=`: a counter or an amount, as text. */
  readonly value: string | undefined;
}

/** Names that every report suite has; those of its own are in the lookup file. */
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

/** `1,201=2.50,100`: instances of eVars (100 to 199, 10000 and above) say no more than the eVars themselves. */
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

/** 200 is event1, 299 event100, 20100 event101. */
function customName(id: number): string | undefined {
  if (id >= 200 && id < 300) return `Custom Event ${id - 199}`;
  return id >= 20_100 && id < 21_000 ? `Custom Event ${id - 19_999}` : undefined;
}
