/**
 * A schema changes in two steps, so that programs of two releases can use a store at the same time: one release expands it, and a
 * later one, when no supported program uses what has been replaced, contracts it. CONTRIBUTING.md has the rule.
 */
export interface MigrationStep {
  readonly name: string;
  /** Version of Millrace that has the migration first. */
  readonly since: string;
  /**
   * `expand`: adds what older programs neither need nor notice, or nothing, to mark that programs have stopped using something.
   * `contract`: removes what programs do not use from the named migration on.
   */
  readonly kind: 'expand' | { readonly contract: string };
}

/** Returns the schema version from which programs can use a store of `version`. `migrations[0]` leads to the version after `first`. */
export function usableFrom(migrations: readonly MigrationStep[], first: number, version: number): number {
  const versionOf = (name: string): number => first + 1 + migrations.findIndex((each) => each.name === name);
  const applied = migrations.slice(0, version - first);
  return Math.max(first, ...applied.map(({ kind }) => (kind === 'expand' ? first : versionOf(kind.contract))));
}
