import { setTimeout as sleep } from 'node:timers/promises';
import {
  applyMaskSql,
  eraseConditions,
  eraseSql,
  forgetSql,
  markerOf,
  maskedPartsSql,
  nudgeSql,
  replacedPartsSql,
} from '../erase-sql.ts';
import { StoreUnavailableError, type DeleteWatch, type EraseRows } from '../eventstore.ts';
import { waitForRemoval } from '../wait-for-removal.ts';
import { deleteOnShard } from './delete-on-shard.ts';
import type { Replicas } from './replicas.ts';
import { eraseSettings, type ClickhouseServer } from './server.ts';

export interface EraseOnShard {
  readonly table: string;
  /** Name of the shard, for messages. */
  readonly where: string;
  readonly rows: EraseRows;
  readonly pollMs: number;
}

/** Resolves once every replica of the shard has written its parts again without the rows, and removed the replaced ones. */
export async function eraseOnShard(shard: Replicas, work: EraseOnShard, watch: DeleteWatch = {}): Promise<void> {
  const { table, where, pollMs } = work;
  const common = { table, where, pollMs, settings: eraseSettings };
  const conditions = eraseConditions(work.rows);
  const marker = markerOf(conditions);
  for (const condition of conditions) {
    await deleteOnShard(shard, { ...common, sql: eraseSql(condition, table, marker), text: marker }, watch);
  }
  const masked = await Promise.all(shard.servers.map((server) => maskedParts(server, table)));
  if (masked.some((parts) => parts > 0)) {
    await deleteOnShard(shard, { ...common, sql: applyMaskSql(table), text: 'APPLY DELETED MASK' }, watch);
  }
  await shard.use((server) => server.command(forgetSql(table, marker)));
  await Promise.all(shard.servers.map((server) => replacedPartsGone(server, work, watch)));
}

async function maskedParts(server: ClickhouseServer, table: string): Promise<number> {
  const [row] = await server.rows<{ parts: string }>(maskedPartsSql(table));
  return Number(row?.parts ?? 0);
}

/** A replica that does not answer keeps its files, so it is waited for. */
async function replacedPartsGone(
  server: ClickhouseServer,
  { table, pollMs }: EraseOnShard,
  watch: DeleteWatch,
): Promise<void> {
  const list = async (): Promise<string[]> => {
    for (;;) {
      try {
        return (await server.rows<{ name: string }>(replacedPartsSql(table))).map(({ name }) => name);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        watch.onWait?.(`${server.host} does not answer, and may still have files of the events`);
        await sleep(pollMs, undefined, { signal: watch.signal });
      }
    }
  };
  const nudge = (): Promise<void> => server.command(nudgeSql(table));
  await waitForRemoval({ list, nudge, where: server.host, pollMs: Math.min(pollMs, 1000) }, watch);
}
