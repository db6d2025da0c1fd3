/** Names that JSON.stringify and `await` look for on every object: of one that answers to any name they must not be there. */
const names: ReadonlySet<string | symbol> = new Set(['toJSON', 'then']);

export function isAskedByLanguage(name: string | symbol): boolean {
  return typeof name === 'symbol' || names.has(name);
}
