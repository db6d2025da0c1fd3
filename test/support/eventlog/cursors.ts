import type { EventLogReader, Lane } from '../../../src/log/eventlog.ts';

/** The cursors that a metadata store would keep. */
export function createCursors() {
  const seqs: Record<Lane, Map<number, number>> = { live: new Map(), historical: new Map() };
  return {
    read: async () => seqs,
    /** Wraps a reader so that its commits are recorded, as those of a pipeline are. */
    watched: (reader: EventLogReader, slot: number): EventLogReader => ({
      id: reader.id,
      read: (lane, afterSeq, limits) => reader.read(lane, afterSeq, limits),
      waitForAppend: (timeoutMs) => reader.waitForAppend(timeoutMs),
      close: () => reader.close(),
      commit: (lane, seq) => {
        seqs[lane].set(slot, Math.max(seq, seqs[lane].get(slot) ?? 0));
        reader.commit(lane, seq);
      },
    }),
  };
}
