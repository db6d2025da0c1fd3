import type { SourceContext } from '../source.ts';
import type { PostgresSession } from './postgres-session.ts';

/** A session, and which state of the database it sees. */
export interface SnapshotSession extends PostgresSession {
  /** Two sessions with the same see the same rows: no transaction has ended between them. */
  readonly snapshot: string;
}

/** The sessions of a source: one for all calls that hold the snapshot, one of its own for every other. */
export interface Snapshots {
  /** Disposed of, a session that is held stays open. Throws as `open` does. */
  session(context: SourceContext): Promise<SnapshotSession>;
  release(): Promise<void>;
}

export function createSnapshots(open: (signal: AbortSignal) => Promise<PostgresSession>): Snapshots {
  let held: SnapshotSession | undefined;
  const release = async (): Promise<void> => {
    const session = held;
    held = undefined;
    await session?.[Symbol.asyncDispose]();
  };
  return {
    release,
    async session({ signal, holdsSnapshot = false }) {
      if (!holdsSnapshot) return await begin(open, signal);
      held ??= await begin(open, signal);
      return lasting(held, release);
    },
  };
}

async function begin(open: (signal: AbortSignal) => Promise<PostgresSession>, signal: AbortSignal) {
  const session = await open(signal);
  try {
    const { rows } = await session.query('select txid_current_snapshot()::text');
    return { ...session, snapshot: `snapshot ${rows[0]?.[0] ?? ''}` };
  } catch (error) {
    await session[Symbol.asyncDispose]();
    throw error;
  }
}

/** After an error the transaction sees nothing any more: the next call begins another. */
function lasting(session: SnapshotSession, release: () => Promise<void>): SnapshotSession {
  return {
    ...session,
    query: async (text) => {
      try {
        return await session.query(text);
      } catch (error) {
        await release();
        throw error;
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
