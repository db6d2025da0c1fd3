import { StringDecoder } from 'node:string_decoder';
import { isoMicros } from '../../base/clock.ts';
import { createMentions, type Mentions } from '../../base/mentions.ts';
import type { RunRef } from '../../stores/events/eventstore.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { unzstdChunks } from '../records/decompress.ts';
import { StagingMissingError, type Staging } from '../staging.ts';
import type { RunState } from './run.ts';

interface EraseStagedDeps {
  readonly db: Metadata;
  readonly staging: Staging;
}

const ended: readonly string[] = ['completed', 'cancelled', 'undone'] satisfies RunState[];
/** Longer lines are searched in pieces that overlap by as much as an id may have. */
const lineCharsMax = 4 * 1024 * 1024;
const overlapChars = 4096;

/** Finds runs of the project whose staged records or results mention one of the ids: those that have ended, and the others. */
export async function findStagedMentions(
  { db, staging }: EraseStagedDeps,
  projectId: number,
  ids: readonly string[],
): Promise<{ readonly ended: readonly string[]; readonly open: readonly string[] }> {
  const runs = await db
    .selectFrom('import_runs')
    .select(['id', 'state'])
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute();
  const mentions = createMentions(ids);
  const found: { readonly id: string; readonly state: string }[] = [];
  for (const run of runs) if (await isMentioned(staging, run.id, mentions)) found.push(run);
  const idsOf = (isEnded: boolean): readonly string[] =>
    found.filter(({ state }) => ended.includes(state) === isEnded).map(({ id }) => id);
  return { ended: idsOf(true), open: idsOf(false) };
}

/** Removes all files of an ended run and its tables: its records can neither be loaded again nor retried. May be repeated. */
export async function eraseStaged(
  {
    db,
    staging,
    dropTables,
    now,
  }: EraseStagedDeps & {
    readonly dropTables: (run: RunRef) => Promise<void>;
    /** ms since the epoch. */
    readonly now: number;
  },
  run: RunRef,
): Promise<void> {
  await db
    .updateTable('import_runs')
    .set((eb) => ({ staging_removed_at: eb.fn.coalesce('staging_removed_at', eb.val(isoMicros(now))) }))
    .where('id', '=', run.runId)
    .where('project_id', '=', run.projectId)
    .where('state', 'in', ended)
    .execute();
  await staging.remove(`${run.runId}/`);
  await dropTables(run);
}

async function isMentioned(staging: Staging, runId: string, mentions: Mentions): Promise<boolean> {
  for (const { key } of await staging.list(`${runId}/`)) {
    try {
      const bytes = staging.read(key);
      for await (const text of textPieces(key.endsWith('.zst') ? unzstdChunks(bytes, key) : bytes)) {
        if (mentions.in(text)) return true;
      }
    } catch (error) {
      // Removed in the meantime.
      if (!(error instanceof StagingMissingError)) throw error;
    }
  }
  return false;
}

/** Yields whole lines, many at a time. */
async function* textPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.write(chunk);
    const end = rest.lastIndexOf('\n') + 1;
    if (end > 0) {
      yield rest.slice(0, end);
      rest = rest.slice(end);
    } else if (rest.length > lineCharsMax) {
      yield rest;
      rest = rest.slice(-overlapChars);
    }
  }
  yield rest + decoder.end();
}
