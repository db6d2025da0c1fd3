import type { SourceContext } from '../source.ts';

/** A connection in one read-only transaction, which sees the database as of its beginning. */
export interface SnapshotSession extends AsyncDisposable {
  /** Sessions with the same snapshot see the same rows: no transaction has ended between them. */
  readonly snapshot: string;
  /** Whether a query failed: its transaction cannot be used any more. */
  isBroken(): boolean;
}

/** The sessions of a source: one shared by all calls that hold the snapshot, and a separate one for each other call. */
export interface Snapshots<Session extends SnapshotSession> {
  /** Disposing a held session leaves it open. Throws as `open` does. */
  session(context: SourceContext): Promise<Session>;
  release(): Promise<void>;
}

export function createSnapshots<Session extends SnapshotSession>(
  open: (signal: AbortSignal) => Promise<Session>,
): Snapshots<Session> {
  let held: Session | undefined;
  const release = async (): Promise<void> => {
    const session = held;
    held = undefined;
    await session?.[Symbol.asyncDispose]();
  };
  return {
    release,
    async session({ signal, holdsSnapshot = false }) {
      if (!holdsSnapshot) return await open(signal);
      if (held?.isBroken() === true) await release();
      held ??= await open(signal);
      return { ...held, [Symbol.asyncDispose]: async () => {} };
    },
  };
}
