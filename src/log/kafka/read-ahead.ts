import type { StoredRecord } from '../eventlog.ts';

/** Records of one lane of one slot that came before they were asked for. */
export interface Ahead {
  /** The records lie directly behind this seq. */
  readonly afterSeq: number;
  readonly records: readonly StoredRecord[];
  /** The seq behind which the log goes on: that of the last record, unless something lies there that is none. */
  readonly next: number;
}

/** Keeps at most one piece for each name, and all of them together within a limit; what does not fit is fetched again. */
export interface ReadAhead {
  /** Takes it out; one that begins elsewhere is of no use any more. */
  take(name: string, afterSeq: number): Ahead | undefined;
  put(name: string, ahead: Ahead): void;
  drop(name: string): void;
}

export function createReadAhead(bytesMax: number): ReadAhead {
  const kept = new Map<string, Ahead & { readonly bytes: number }>();
  let sum = 0;
  const drop = (name: string): void => {
    sum -= kept.get(name)?.bytes ?? 0;
    kept.delete(name);
  };
  return {
    drop,
    take: (name, afterSeq) => {
      const found = kept.get(name);
      drop(name);
      return found?.afterSeq === afterSeq ? found : undefined;
    },
    put: (name, ahead) => {
      drop(name);
      if (ahead.records.length === 0) return;
      const bytes = ahead.records.reduce((total, record) => total + bytesOf(record), 0);
      if (sum + bytes > bytesMax) return;
      kept.set(name, { ...ahead, bytes });
      sum += bytes;
    },
  };
}

export function bytesOf(record: StoredRecord): number {
  return record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
}

export function eventsOf(record: StoredRecord): number {
  return record.damaged === undefined ? record.header.events : 1;
}
