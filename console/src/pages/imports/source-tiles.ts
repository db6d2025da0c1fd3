import type { Formats, Plugin } from './imports-query.ts';

export const sourceGroups = ['Files and buckets', 'Tools', 'Databases and streams', 'Sample data'] as const;

export interface SourceTile {
  readonly group: (typeof sourceGroups)[number];
  /** Slug of the import app. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
}

const groupOfApp: Readonly<Record<string, SourceTile['group']>> = {
  files: 'Files and buckets',
  urls: 'Files and buckets',
  s3: 'Files and buckets',
  gcs: 'Files and buckets',
  azure: 'Files and buckets',
  postgres: 'Databases and streams',
  mysql: 'Databases and streams',
  clickhouse: 'Databases and streams',
  bigquery: 'Databases and streams',
  snowflake: 'Databases and streams',
  kafka: 'Databases and streams',
  duckdb: 'Databases and streams',
  sqlite: 'Databases and streams',
  'sample-events': 'Sample data',
};

/**
 * Returns a tile for each import app, and one for each tool whose export files can be imported although it has no app, so that a
 * search by the name of the tool finds it.
 */
export function sourceTiles(
  apps: readonly Pick<Plugin, 'slug' | 'name' | 'description'>[],
  formats: readonly Pick<Formats['results'][number], 'slug' | 'name' | 'description'>[],
): SourceTile[] {
  const tiles = apps.map(({ slug, name, description }): SourceTile => ({
    group: groupOfApp[slug] ?? 'Tools',
    slug,
    name,
    description: firstClause(description),
  }));
  const slugs = new Set([...apps.map(({ slug }) => slug), 'mapping']);
  const exports = formats.flatMap(({ slug, name }): SourceTile[] =>
    slugs.has(slug) ? [] : [{ group: 'Tools', slug: 'files', name, description: `Upload export files from ${name}.` }],
  );
  // Apps with a connection come first.
  return [...tiles, ...exports];
}

/** The form of the source shows the whole description. */
function firstClause(description: string): string {
  return description.replace(/[:.] .*$/s, '.');
}
