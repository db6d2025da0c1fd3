import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { MonthRowKey } from '../events/month-rows.ts';
import type { Metadata } from '../metadata/database.ts';
import type { TableTotals } from './table-totals.ts';
import { hasTable } from './unfinished-move.ts';

/** Progress of a move, kept with the stores that are moved: a restarted move continues from there. */
export interface MoveState {
  /** Identifies the move in tokens and in the target. */
  readonly id: string;
  readonly started_at: string;
  /** The target stores, without passwords. */
  readonly target: string;
  /** Done: the target has everything. */
  stage: 'copying' | 'done';
  /** Copied and compared, by name. */
  readonly tables: Record<string, TableTotals>;
  /** Copied and compared, by `project/month`. */
  readonly months: Record<string, MonthTotals>;
  /** The month being copied. */
  current: MonthPlace | null;
}

export interface MonthTotals {
  /** Number of events as reads return them. */
  readonly events: number;
  /** Sum of the hashes of all columns of each, modulo 2^64. */
  readonly checksum: string;
}

/** Position up to which rows of a month have been inserted. */
export interface MonthPlace {
  readonly month: string;
  readonly which: 'stored' | 'shown';
  readonly after: MonthRowKey;
}

/** Keeps the state with the stores that are moved, where a service that starts on them finds it. */
export interface MoveStateKeeper {
  /** How to forget the move: an instruction for users. */
  readonly remedy: string;
  /** Returns undefined if no move was started. */
  read(): Promise<MoveState | undefined>;
  /** Writes atomically and durably: the target must never be more than one step ahead of it. */
  write(state: MoveState): Promise<void>;
}

/** Keeps it in `move.json` of a data directory. */
export function moveStateInFile(dataDir: string): MoveStateKeeper {
  return {
    remedy: `delete ${moveFile(dataDir)}`,
    read: async () => readMoveState(dataDir),
    write: async (state) => writeMoveState(dataDir, state),
  };
}

function moveFile(dataDir: string): string {
  return join(dataDir, 'move.json');
}

/** Returns undefined if no move was started. */
export function readMoveState(dataDir: string): MoveState | undefined {
  const file = moveFile(dataDir);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as MoveState) : undefined;
}

export function writeMoveState(dataDir: string, state: MoveState): void {
  const file = moveFile(dataDir);
  const draft = `${file}.new`;
  const handle = openSync(draft, 'w', 0o600);
  writeSync(handle, `${JSON.stringify(state, null, 2)}\n`);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(draft, file);
  const directory = openSync(dirname(file), 'r');
  fsyncSync(directory);
  closeSync(directory);
}

/** Keeps it in the table `move_to` of a PostgreSQL database, with the first write. */
export function moveStateInDatabase(db: Metadata): MoveStateKeeper {
  return {
    remedy: 'drop the table move_to in the database',
    read: async () => {
      if (!(await hasTable(db, 'move_to'))) return undefined;
      const { rows } = await sql<{ state: string }>`select state from move_to`.execute(db);
      return rows[0] && (JSON.parse(rows[0].state) as MoveState);
    },
    write: async (state) => {
      await db.transaction().execute(async (tx) => {
        // A write that was acknowledged must survive, whatever the server's default is.
        await sql`set local synchronous_commit = on`.execute(tx);
        await sql`create table if not exists move_to (id integer primary key check (id = 1), state text not null)`.execute(
          tx,
        );
        await sql`insert into move_to (id, state) values (1, ${JSON.stringify(state)})
          on conflict (id) do update set state = excluded.state`.execute(tx);
      });
    },
  };
}

/** Returns why a service must not start in this directory, or `undefined` if it may. */
export function moveProblem(dataDir: string): string | undefined {
  return problemOf(readMoveState(dataDir), 'a data directory', moveStateInFile(dataDir));
}

/** Returns why a service must not start on this PostgreSQL database, or `undefined` if it may. */
export async function databaseMoveProblem(db: Metadata): Promise<string | undefined> {
  const keeper = moveStateInDatabase(db);
  return problemOf(await keeper.read(), 'a database', keeper);
}

function problemOf(state: MoveState | undefined, what: string, { remedy }: MoveStateKeeper): string | undefined {
  if (state === undefined) return undefined;
  const advice = `to use it again, without what the target has received since, ${remedy}`;
  return state.stage === 'done'
    ? `expected ${what} in use, got one that was moved to other stores; start the service on those, or, ${advice}`
    : `expected ${what} in use, got one that is being moved; run the same "millrace move" again to finish, or, ${advice}`;
}
