/** Returns the list with one item moved. */
export function movedTo<Item>(items: readonly Item[], from: number, to: number): Item[] {
  const rest = items.filter((_item, index) => index !== from);
  const item = items[from];
  return item === undefined ? rest : [...rest.slice(0, to), item, ...rest.slice(to)];
}

interface Searched {
  readonly name: string;
  readonly description: string;
  readonly plugin_info: string;
  readonly enabled: boolean;
  readonly error: string;
}

interface Filters {
  readonly q?: string | undefined;
  readonly state?: 'on' | 'off' | 'failing' | undefined;
}

/** Returns the items that match the filters, in order. */
export function filtered<Item extends Searched>(items: readonly Item[], { q = '', state }: Filters): Item[] {
  const wanted = q.trim().toLowerCase();
  return items.filter(
    (item) =>
      `${item.name}\n${item.description}\n${item.plugin_info}`.toLowerCase().includes(wanted) &&
      (state === undefined || (state === 'failing' ? item.error !== '' : item.enabled === (state === 'on'))),
  );
}
