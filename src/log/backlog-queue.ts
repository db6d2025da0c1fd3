import type { Backlog } from './eventlog.ts';

/** Size of a record, known without reading it. */
export interface RecordSize {
  readonly seq: number;
  readonly projectId: number;
  readonly events: number;
  readonly bytes: number;
}

/** Sums up waiting records. Takes 20 bytes per record, so that millions can wait. */
export interface BacklogQueue {
  /** `seq` must be higher than all before. */
  push(size: RecordSize): void;
  dropThrough(seq: number): void;
  totals(): Backlog;
  totalsOf(projectId: number): Backlog;
}

type Sums = { -readonly [Name in keyof Backlog]: Backlog[Name] };
const nothing: Backlog = { records: 0, events: 0, bytes: 0 };

interface Chunk {
  readonly seqs: Float64Array;
  readonly projects: Uint32Array;
  readonly events: Uint32Array;
  readonly bytes: Uint32Array;
  from: number;
  to: number;
}

const chunkRecords = 4096;

function createChunk(): Chunk {
  return {
    seqs: new Float64Array(chunkRecords),
    projects: new Uint32Array(chunkRecords),
    events: new Uint32Array(chunkRecords),
    bytes: new Uint32Array(chunkRecords),
    from: 0,
    to: 0,
  };
}

export function createBacklogQueue(): BacklogQueue {
  let chunks: Chunk[] = [];
  const sums: Sums = { ...nothing };
  /** Sums by project, for projects with waiting records. */
  const sumsOf = new Map<number, Sums>();

  const add = (projectId: number, records: 1 | -1, events: number, bytes: number): void => {
    const own = sumsOf.get(projectId) ?? { ...nothing };
    for (const each of [sums, own]) {
      each.records += records;
      each.events += events;
      each.bytes += bytes;
    }
    if (own.records === 0) sumsOf.delete(projectId);
    else sumsOf.set(projectId, own);
  };

  /** Returns true if the whole chunk was dropped. */
  const dropFrom = (chunk: Chunk, seq: number): boolean => {
    while (chunk.from < chunk.to && (chunk.seqs[chunk.from] ?? 0) <= seq) {
      const at = chunk.from;
      add(chunk.projects[at] ?? 0, -1, -(chunk.events[at] ?? 0), -(chunk.bytes[at] ?? 0));
      chunk.from += 1;
    }
    return chunk.from === chunk.to;
  };

  return {
    push: (size) => {
      let chunk = chunks.at(-1);
      if (chunk === undefined || chunk.to === chunkRecords) {
        chunk = createChunk();
        chunks.push(chunk);
      }
      chunk.seqs[chunk.to] = size.seq;
      chunk.projects[chunk.to] = size.projectId;
      chunk.events[chunk.to] = size.events;
      chunk.bytes[chunk.to] = size.bytes;
      chunk.to += 1;
      add(size.projectId, 1, size.events, size.bytes);
    },
    dropThrough: (seq) => {
      let dropped = 0;
      for (const chunk of chunks) {
        if (!dropFrom(chunk, seq)) break;
        dropped += 1;
      }
      if (dropped > 0) chunks = chunks.slice(dropped);
    },
    totals: () => ({ ...sums }),
    totalsOf: (projectId) => ({ ...(sumsOf.get(projectId) ?? nothing) }),
  };
}
