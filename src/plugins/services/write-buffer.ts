import type { WarnLog } from '../../server/telemetry/log.ts';

interface WriteBufferDeps<Row> {
  /** For the log: `plugin logs`. */
  readonly what: string;
  readonly log: WarnLog;
  /** Maximum rows of one write; that many waiting rows start one immediately. */
  readonly rowsPerWrite: number;
  /** Beyond this `add` refuses. */
  readonly rowsMax: number;
  readonly flushMs: number;
  readonly write: (rows: readonly Row[]) => Promise<void>;
}

interface WriteBuffer<Row> {
  /** Never throws, never waits. Returns false if the buffer is full because the store does not accept its rows. */
  add(row: Row): boolean;
  /** Resolves once previously added rows are written or their write has failed. */
  flush(): Promise<void>;
  /** Writes the remaining rows. Rows that cannot be written then are lost, which is logged. */
  close(): Promise<void>;
}

/** Buffers rows and writes them soon, together. Rows that cannot be written stay and are retried. */
export function createWriteBuffer<Row>(deps: WriteBufferDeps<Row>): WriteBuffer<Row> {
  const { what, log, rowsPerWrite, rowsMax, flushMs } = deps;
  const rows: Row[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let waiting = 0;
  let isFailing = false;
  let isClosed = false;

  const writeAll = async (): Promise<void> => {
    while (rows.length > 0) {
      const part = rows.slice(0, rowsPerWrite);
      try {
        await deps.write(part);
      } catch (error) {
        // Logged once per streak; the store itself is watched elsewhere.
        if (!isFailing) log.warn({ err: error }, `failed to write ${what}; they are kept and retried`);
        isFailing = true;
        return;
      }
      isFailing = false;
      rows.splice(0, part.length);
    }
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting > 1) return writing;
    waiting += 1;
    writing = writing.then(writeAll).finally(() => {
      waiting -= 1;
      if (rows.length > 0 && !isClosed) schedule();
    });
    return writing;
  };
  const schedule = (): void => {
    timer ??= setTimeout(() => void flush(), flushMs).unref();
  };

  return {
    add: (row) => {
      if (isClosed || rows.length >= rowsMax) return false;
      rows.push(row);
      if (rows.length % rowsPerWrite === 0) void flush();
      else schedule();
      return true;
    },
    flush,
    close: async () => {
      isClosed = true;
      await flush();
      if (rows.length > 0) log.warn({ lost: rows.length }, `${what} lost: not written before the end`);
    },
  };
}
