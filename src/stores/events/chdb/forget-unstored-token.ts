import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

/** What is asked of the engine, before anything is inserted. */
export interface TokenLogAccess {
  command(sql: string): Promise<void>;
  rows<Row>(sql: string): Promise<Row[]>;
}

interface LastToken {
  readonly path: string;
  /** Length of the file without its last line. */
  readonly bytesBefore: number;
  readonly partition: string;
  readonly block: string;
}

const logFile = /^deduplication_log_(\d+)\.txt$/;
/** `1`: added; then the part, of which every insert makes one for each month: partition, first and last block, level. */
const addedLine = /^1\t([^\t_]+)_(\d+)_\d+_\d+\t/;

interface TokenTable {
  readonly name: string;
  readonly path: string;
}

/**
 * The engine notes the token of an insert just before it gives the insert's part its name. A kill between the two leaves a token
 * without rows, and the same insert would be taken for stored when it is tried again. Inserts into a table (`events`, or that of a run)
 * come one after the other, so only the last token noted can be such a one: it is forgotten when there is no part of it, and none that
 * it was merged into.
 */
export async function forgetUnstoredTokens(access: TokenLogAccess): Promise<void> {
  const tables = await access.rows<TokenTable>(
    `SELECT name, data_paths[1] AS path FROM system.tables
WHERE database = currentDatabase() AND engine = 'ReplacingMergeTree' AND match(name, '^[A-Za-z0-9_]+$')
  AND position(engine_full, 'non_replicated_deduplication_window') > 0`,
  );
  for (const table of tables) await forgetUnstoredToken(access, table);
}

async function forgetUnstoredToken({ command, rows }: TokenLogAccess, { name, path }: TokenTable): Promise<void> {
  const last = lastTokenOf(join(path, 'deduplication_logs'));
  if (last === undefined) return;
  const parts = await rows(`SELECT name FROM system.parts
WHERE database = currentDatabase() AND table = '${name}' AND active AND partition_id = '${last.partition}'
  AND min_block_number <= ${last.block} AND max_block_number >= ${last.block}`);
  if (parts.length > 0) return;
  // The engine keeps the tokens in memory and reads them when it opens the table.
  await command(`DETACH TABLE ${name}`);
  try {
    truncateSync(last.path, last.bytesBefore);
  } finally {
    await command(`ATTACH TABLE ${name}`);
  }
}

/** Undefined: there is no token, or the last thing noted is that a part was dropped. */
function lastTokenOf(directory: string): LastToken | undefined {
  for (const name of newestFirst(directory)) {
    const path = join(directory, name);
    const text = readFileSync(path, 'latin1');
    const end = text.trimEnd();
    if (end === '') continue;
    const from = end.lastIndexOf('\n') + 1;
    const [, partition, block] = addedLine.exec(end.slice(from)) ?? [];
    if (partition === undefined || block === undefined) return undefined;
    return { path, bytesBefore: from, partition, block };
  }
  return undefined;
}

function newestFirst(directory: string): string[] {
  const numberOf = (name: string): number => Number(logFile.exec(name)?.[1]);
  const names = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names
    .map(({ name }) => name)
    .filter((name) => logFile.test(name))
    .sort((a, b) => numberOf(b) - numberOf(a));
}
