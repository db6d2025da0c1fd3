/** Names that JSON.stringify and `await` read on every object: an object that responds to any name must not have them. */
const names: ReadonlySet<string | symbol> = new Set(['toJSON', 'then']);

export function isAskedByLanguage(name: string | symbol): boolean {
  return typeof name === 'symbol' || names.has(name);
}
