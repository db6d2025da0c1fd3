import { dayMs } from '../../base/time.ts';
import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { firstLogId } from './log-ids.ts';

const rowsPerDelete = 2000;
export const linesPerConfigMax = 10_000;

/** In small steps, so that no write waits long. `now` in ms. */
export async function prunePluginLogs(
  db: Metadata,
  { days, now }: { readonly days: number; readonly now: number },
): Promise<void> {
  const since = now - days * dayMs;
  await deleteWhile(async () => {
    const old = db.selectFrom('plugin_logs').select('id').where('id', '<', firstLogId(since)).limit(rowsPerDelete);
    return db.deleteFrom('plugin_logs').where('id', 'in', old).executeTakeFirst();
  });
  await db.deleteFrom('plugin_errors').where('last_seen', '<', isoMicros(since)).execute();
  for (const configId of await configsBeyondLimit(db)) await pruneLines(db, configId);
  for (const table of ['plugin_storage', 'plugin_own_metrics'] as const) await pruneOrphans(db, table);
}

/** What a plugin wrote after its config was deleted. A select comes first: unlike a delete, it takes no write lock. */
async function pruneOrphans(db: Metadata, table: 'plugin_storage' | 'plugin_own_metrics'): Promise<void> {
  const orphans = await db
    .selectFrom(table)
    .select('config_id')
    .distinct()
    .where('config_id', 'not in', db.selectFrom('plugin_configs').select('id'))
    .execute();
  for (const { config_id: configId } of orphans) {
    await db.deleteFrom(table).where('config_id', '=', configId).execute();
  }
}

async function configsBeyondLimit(db: Metadata): Promise<number[]> {
  const rows = await db
    .selectFrom('plugin_logs')
    .select('config_id')
    .groupBy('config_id')
    .having((eb) => eb(eb.fn.countAll(), '>', linesPerConfigMax))
    .execute();
  return rows.map((row) => row.config_id);
}

async function pruneLines(db: Metadata, configId: number): Promise<void> {
  const last = await db
    .selectFrom('plugin_logs')
    .select('id')
    .where('config_id', '=', configId)
    .orderBy('id', 'desc')
    .offset(linesPerConfigMax)
    .limit(1)
    .executeTakeFirst();
  if (last === undefined) return;
  await deleteWhile(async () => {
    const old = db
      .selectFrom('plugin_logs')
      .select('id')
      .where('config_id', '=', configId)
      .where('id', '<=', last.id)
      .limit(rowsPerDelete);
    return db.deleteFrom('plugin_logs').where('id', 'in', old).executeTakeFirst();
  });
}

async function deleteWhile(step: () => Promise<{ readonly numDeletedRows: bigint }>): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await step();
    if (numDeletedRows < BigInt(rowsPerDelete)) return;
  }
}
