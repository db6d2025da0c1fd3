import { readFileSync } from 'node:fs';

const guide = new URL('../../docs/guides/clickhouse-cluster.md', import.meta.url);
const guideOfReaders = new URL('../../docs/guides/query-events.md', import.meta.url);

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

/** A user as a configuration file has it. */
export interface GuidedReader {
  readonly settings: readonly {
    readonly name: string;
    readonly value: string;
    readonly min: string | undefined;
    readonly max: string | undefined;
  }[];
  /** Without the user: `GRANT SELECT ON millrace.events`. */
  readonly grants: readonly string[];
}

/** The user that the guide creates for tools that only read. */
export function readerOfGuide(): GuidedReader {
  const text = readFileSync(guideOfReaders, 'utf8');
  const [, block = ''] = /CREATE SETTINGS PROFILE reader SETTINGS\n([^;]*);/.exec(text) ?? [];
  const settings = block.split(',').map((line) => {
    const [, name = '', value = '', min, max] = /^\s*(\w+) = (\w+)(?: MIN (\w+) MAX (\w+))?$/.exec(line) ?? [];
    return { name, value, min, max };
  });
  const grants = [...text.matchAll(/^(GRANT SELECT ON millrace\.\w+) TO reader;$/gm)].map(([, grant = '']) => grant);
  return { settings, grants };
}
