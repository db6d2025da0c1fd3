import type { RecordChunk, Source, SourceContext, SourcePart, TimeRange } from '../source.ts';

/** A connection in one read-only transaction, which sees the database as of its beginning. */
export interface SnapshotSession extends AsyncDisposable {
  /** Sessions with the same snapshot see the same rows: no transaction has ended between them. */
  readonly snapshot: string;
  /** Whether a query failed: its transaction cannot be used any more. */
  isBroken(): boolean;
}

/** How a source reads a database through its sessions. */
export interface SnapshotReader<Session extends SnapshotSession> {
  open(signal: AbortSignal): Promise<Session>;
  listParts(session: Session, range: TimeRange): Promise<SourcePart[]>;
  read(session: Session, part: SourcePart, context: SourceContext): AsyncIterable<RecordChunk>;
  /** Returns the number of rows of the part and a checksum independent of their order. */
  checksum(session: Session, part: SourcePart): Promise<readonly (string | undefined)[]>;
}

/** Creates a source that reads everything as of its beginning, in one transaction. */
export function createSnapshotSource<Session extends SnapshotSession>(reader: SnapshotReader<Session>): Source {
  const snapshots = createSnapshots(reader.open);
  const checksumOf = async (session: Session, part: SourcePart): Promise<string> => {
    const [count, sum] = await reader.checksum(session, part);
    return `${count ?? ''} rows, sum ${sum ?? ''}`;
  };
  return {
    concurrency: 1,
    async listParts(range, context) {
      await using session = await snapshots.session(context);
      const parts = await reader.listParts(session, range);
      return parts.map((part) => Object.assign(part, { identity: session.snapshot, isSnapshot: true }));
    },
    async *open(part, context) {
      await using session = await snapshots.session(context);
      yield* reader.read(session, part, context);
      if (context.holdsSnapshot !== true) return;
      context.wasRead?.({ identity: session.snapshot, checksum: await checksumOf(session, part) });
    },
    async checksumNow(part, context) {
      await using session = await snapshots.session(context);
      return await checksumOf(session, part);
    },
    release: () => snapshots.release(),
  };
}

/** The sessions of a source: one shared by all calls that hold the snapshot, and a separate one for each other call. */
interface Snapshots<Session extends SnapshotSession> {
  /** Disposing a held session leaves it open. Throws as `open` does. */
  session(context: SourceContext): Promise<Session>;
  release(): Promise<void>;
}

function createSnapshots<Session extends SnapshotSession>(
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
