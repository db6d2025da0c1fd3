import type { WarnLog } from '../../server/telemetry/log.ts';

export interface WriteBufferDeps<Row> {
  /** For the log: `plugin logs`. */
  readonly what: string;
  readonly log: WarnLog;
  /** Rows of one write at most; as many waiting rows start one at once. */
  readonly rowsPerWrite: number;
  /** Beyond it `add` refuses. */
  readonly rowsMax: number;
  readonly flushMs: number;
  readonly write: (rows: readonly Row[]) => Promise<void>;
}

export interface WriteBuffer<Row> {
  /** Never throws, never waits. False: the buffer is full, because the store does not take its rows. */
  add(row: Row): boolean;
  /** Resolves once what was added before is written or has failed to be. */
  flush(): Promise<void>;
  /** Writes what is there. What cannot be written then is lost, and the log says so. */
  close(): Promise<void>;
}

/** Rows that are written soon, together. What cannot be written stays and is tried again. */
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
        // Once per streak; the store itself is watched elsewhere.
        if (!isFailing) log.warn({ err: error }, `${what} cannot be written; they are kept for now and tried again`);
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
      if (rows.length > 0) log.warn({ lost: rows.length }, `${what} could not be written before the end`);
    },
  };
}
