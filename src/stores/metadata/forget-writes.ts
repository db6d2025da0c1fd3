import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Metadata } from './database.ts';
import { hasStoreAlone } from './queries.ts';

const attempts = 50;
const pauseMs = 100;

/**
 * Empties SQLite's write-ahead log, which keeps earlier content of pages until it is written over. Other databases have their own: this
 * does nothing. A reader that keeps an old snapshot delays it; then the next checkpoint does it.
 */
export async function forgetWrites(db: Metadata): Promise<void> {
  if (!hasStoreAlone(db)) return;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
    if (rows[0]?.busy === 0) return;
    await delay(pauseMs);
  }
}
