import { lanes, type EventLogReader, type Lane, type StoredRecord } from '../../eventlog/eventlog.ts';

/** Body bytes of a read that is small: any number of them may be in memory. */
const smallBytes = 256 * 1024;

/** Lets so many through at a time; the others wait in line. */
export interface Turns {
  /** Resolves with what ends the turn. */
  take(): Promise<() => void>;
}

export function createTurns(max: number): Turns {
  const waiting: ((turn: () => void) => void)[] = [];
  let left = max;
  const newTurn = (): (() => void) => {
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const next = waiting.shift();
      if (next === undefined) left += 1;
      else next(newTurn());
    };
  };
  return {
    take: async () => {
      if (left === 0) return await new Promise<() => void>((resolve) => waiting.push(resolve));
      left -= 1;
      return newTurn();
    },
  };
}

interface Turn {
  /** The read began after this. */
  readonly from: number;
  readonly end: () => void;
}

/**
 * A reader beside many others in one process: a large read waits for its turn, which lasts until the events are stored, so that
 * the memory is that of a few large windows, however many slots lag behind.
 */
export function readInTurns(reader: EventLogReader, turns: Turns): EventLogReader {
  const open: Record<Lane, Turn[]> = { live: [], historical: [] };
  const isLarge: Record<Lane, boolean> = { live: false, historical: false };

  const endTurns = (lane: Lane, isOver: (turn: Turn) => boolean): void => {
    for (const turn of open[lane]) if (isOver(turn)) turn.end();
    open[lane] = open[lane].filter((turn) => !isOver(turn));
  };
  const takeTurn = async (lane: Lane, from: number): Promise<void> => {
    // The same range once more.
    if (open[lane].some((turn) => turn.from === from)) return;
    open[lane].push({ from, end: await turns.take() });
  };

  return {
    id: reader.id,
    read: async (lane, afterSeq, limits) => {
      if (!isLarge[lane]) {
        const bytes = Math.min(limits.bytes, smallBytes);
        const found = await reader.read(lane, afterSeq, { ...limits, bytes });
        isLarge[lane] = bytes < limits.bytes && bytesOf(found) >= bytes;
        if (!isLarge[lane]) return found;
      }
      await takeTurn(lane, afterSeq);
      const found = await reader.read(lane, afterSeq, limits);
      isLarge[lane] = bytesOf(found) >= smallBytes;
      if (!isLarge[lane]) endTurns(lane, ({ from }) => from === afterSeq);
      return found;
    },
    commit: (lane, seq) => {
      endTurns(lane, ({ from }) => from < seq);
      reader.commit(lane, seq);
    },
    waitForAppend: (timeoutMs) => reader.waitForAppend(timeoutMs),
    close: async () => {
      for (const lane of lanes) endTurns(lane, () => true);
      await reader.close();
    },
  };
}

function bytesOf(records: readonly StoredRecord[]): number {
  let bytes = 0;
  for (const record of records)
    bytes += record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
  return bytes;
}
