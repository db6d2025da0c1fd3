import { setTimeout as sleep } from 'node:timers/promises';
import { ServerAwayError, StoreUnavailableError, type DeleteWatch } from '../eventstore.ts';
import type { Replicas } from './replicas.ts';
import type { ClickhouseServer, ServerSettings } from './server.ts';

export interface DeleteOnShard {
  readonly table: string;
  /** Name of the shard, for messages. */
  readonly where: string;
  readonly sql: string;
  /** Occurs in the engine's record of the statement, and in no other that is not equivalent. */
  readonly text: string;
  readonly settings?: ServerSettings;
  /** How long to wait for the statement itself, and then between polls of its replicas. */
  readonly pollMs: number;
}

/** State of the delete on one replica, or `undefined` if it does not answer. */
type ReplicaDelete = { readonly isKnown: boolean; readonly isDone: boolean; readonly failure: string } | undefined;

/**
 * Resolves once every replica of the shard has deleted the rows. The statement ends only then, and a missing replica may block it
 * silently for minutes. So the replicas are polled after a while, and what is missing is reported.
 */
export async function deleteOnShard(shard: Replicas, work: DeleteOnShard, watch: DeleteWatch = {}): Promise<void> {
  const statement = startDelete(shard, work);
  if ((await within(statement, work, watch)) === 'done') return;
  const id = await listedId(shard, work, statement, watch);
  if (id === undefined) return;
  for (;;) {
    const states = await Promise.all(shard.servers.map((server) => replicaDelete(server, id, work)));
    const missing = shard.servers.flatMap((server, at) => lackOf(server, states[at]));
    if (missing.length === 0) return;
    watch.onWait?.(`${work.where} has not deleted the events on every replica: ${missing.join('; ')}`);
    await sleep(work.pollMs, undefined, { signal: watch.signal });
  }
}

/** Resolves when the statement ends: done, or accepted while a replica is unavailable. */
async function startDelete(shard: Replicas, { sql, settings }: DeleteOnShard): Promise<'done' | 'accepted'> {
  try {
    await shard.use((server) => server.command(sql, settings));
    return 'done';
  } catch (error) {
    // The caller repeats a delete that no server accepted.
    if (error instanceof StoreUnavailableError && !(error instanceof ServerAwayError)) return 'accepted';
    throw error;
  }
}

type Statement = ReturnType<typeof startDelete>;

/** Waits for the statement until the next poll. The server continues regardless of its client. */
async function within(
  statement: Statement,
  { pollMs }: DeleteOnShard,
  { signal }: DeleteWatch,
): Promise<Awaited<Statement> | 'running'> {
  statement.catch(() => undefined);
  const over = new AbortController();
  const stopped = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  try {
    return await Promise.race([statement, sleep(pollMs, 'running' as const, { signal: stopped })]);
  } finally {
    over.abort();
  }
}

/** Polls without a listed delete after the statement has ended without a result: it was probably not accepted. */
const unlistedPollsMax = 12;

/**
 * Waits until a server lists the delete: a busy one does so late, while the statement runs. Returns `undefined` if the statement
 * is done before. Throws StoreUnavailableError if it has ended, and no delete is listed.
 */
async function listedId(
  shard: Replicas,
  work: DeleteOnShard,
  statement: Statement,
  watch: DeleteWatch,
): Promise<string | undefined> {
  for (let left = unlistedPollsMax; ;) {
    const id = await shard.use((server) => deleteId(server, work));
    if (id !== undefined) return id;
    const state = await within(statement, work, watch);
    if (state === 'done') return undefined;
    watch.onWait?.(`${work.where} has not received the delete yet`);
    if (state === 'running') continue;
    if ((left -= 1) === 0) {
      throw new StoreUnavailableError(
        `Expected ${work.where} to have received the delete, but no server lists it after ${unlistedPollsMax} polls`,
      );
    }
    await sleep(work.pollMs, undefined, { signal: watch.signal });
  }
}

/** Returns the id of the last such delete, which is the same on all replicas of the shard. */
async function deleteId(server: ClickhouseServer, { table, text }: DeleteOnShard): Promise<string | undefined> {
  const sql = `SELECT argMax(mutation_id, (length(mutation_id), mutation_id)) AS id FROM system.mutations
WHERE database = currentDatabase() AND table = '${table}' AND position(command, {text:String}) > 0`;
  const [row] = await server.rows<{ id: string }>(sql, { text });
  return row === undefined || row.id === '' ? undefined : row.id;
}

async function replicaDelete(server: ClickhouseServer, id: string, { table }: DeleteOnShard): Promise<ReplicaDelete> {
  const sql = `SELECT toUInt8(count() > 0) AS known, toUInt8(countIf(mutation_id = {id:String} AND NOT is_done) > 0) AS open,
  anyIf(latest_fail_reason, mutation_id = {id:String}) AS failure
FROM system.mutations WHERE database = currentDatabase() AND table = '${table}' AND mutation_id >= {id:String}`;
  if (!(await server.answers())) return undefined;
  try {
    const [row] = await server.rows<{ known: number; open: number; failure: string }>(sql, { id });
    const isKnown = row?.known === 1;
    return { isKnown, isDone: isKnown && row.open === 0, failure: row?.failure ?? '' };
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

const failureLettersMax = 200;

/** Returns why the delete is not completed on the replica. Empty if it is. */
function lackOf({ host }: ClickhouseServer, state: ReplicaDelete): string[] {
  if (state === undefined) return [`${host} does not answer`];
  if (state.isDone) return [];
  if (!state.isKnown) return [`${host} has not received the delete yet`];
  return [
    `${host} ${state.failure === '' ? 'is still deleting' : `fails: ${state.failure.slice(0, failureLettersMax)}`}`,
  ];
}
