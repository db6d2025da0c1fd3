import type { Queries } from '../../stores/metadata/queries.ts';

const lengthMax = 60;

/** Returns a stable name for a new plugin, derived from its name; numbered if it is taken. */
export async function slugFor(tx: Queries, name: string): Promise<string> {
  const base = kebab(name);
  const rows = await tx.selectFrom('plugins').select('slug').where('slug', 'like', `${base}%`).execute();
  const taken = new Set(rows.map(({ slug }) => slug));
  for (let number = 1; ; number++) {
    const slug = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(slug)) return slug;
  }
}

/** `Über-Filter (v2)` → `uber-filter-v2`. */
export function kebab(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.replace(/[^a-z0-9]+/g, '-').slice(0, lengthMax);
  return words.replace(/^-+|-+$/g, '') || 'plugin';
}
