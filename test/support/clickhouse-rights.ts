import { readFileSync } from 'node:fs';

const guide = new URL('../../docs/guides/clickhouse-cluster.md', import.meta.url);

/** The statements with which the guide gives a user all rights that it needs: for the user and the database `millrace`. */
export function rightsOfGuide(): readonly string[] {
  const [, block = ''] = /```sql\n(\s*GRANT [^]*?)```/.exec(readFileSync(guide, 'utf8')) ?? [];
  return block
    .split('\n')
    .map((line) => line.trim().replace(/;$/, ''))
    .filter((line) => line !== '');
}

/** Tables of the system that they are to read. */
export function grantedTables(): readonly string[] {
  return rightsOfGuide().flatMap((sql) => /SELECT ON system\.(\w+)/.exec(sql)?.[1] ?? []);
}
