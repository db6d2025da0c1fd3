/** Reads one search parameter. A value of another type counts as absent: both return `undefined`. */
type SearchField<Value> = (raw: unknown) => Value | undefined;

type Values<Fields extends Readonly<Record<string, SearchField<unknown>>>> = {
  [Name in keyof Fields]?: Exclude<ReturnType<Fields[Name]>, undefined> | undefined;
};

/**
 * Builds the `validateSearch` of a route. An invalid value becomes `undefined` instead of being omitted, because the router merges the
 * result into the parameters of the URL.
 */
export function searchOf<const Fields extends Readonly<Record<string, SearchField<unknown>>>>(
  fields: Fields,
): (raw: Readonly<Record<string, unknown>>) => Values<Fields> {
  return (raw) =>
    Object.fromEntries(Object.entries(fields).map(([name, read]) => [name, read(raw[name])])) as Values<Fields>;
}

/** The `validateSearch` of a page without parameters. */
export const noSearch = searchOf({});

/** Reads a string. The router parses digits in the URL as a number, which is converted back. */
export const text: SearchField<string> = (raw) =>
  typeof raw === 'string' && raw !== '' ? raw : typeof raw === 'number' ? String(raw) : undefined;

export const integer: SearchField<number> = (raw) =>
  typeof raw === 'number' && Number.isSafeInteger(raw) ? raw : undefined;

export const flag: SearchField<boolean> = (raw) => (typeof raw === 'boolean' ? raw : undefined);

export function oneOf<const Value extends string>(...values: readonly Value[]): SearchField<Value> {
  return (raw) => values.find((value) => value === raw);
}

export const texts: SearchField<readonly string[]> = (raw) => {
  const list = Array.isArray(raw) ? raw.filter((item) => typeof item === 'string') : [];
  return list.length === 0 ? undefined : list;
};
