import { lanes, type EventLogReader, type Lane, type StoredRecord } from '../../log/eventlog.ts';

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

export interface TurnReader extends EventLogReader {
  /**
   * Ends its turns before what it read is stored: that could not be done, and will be read again. Who waits for the next turn while it
   * has one would otherwise wait for itself.
   */
  letGo(): void;
}

/**
 * A reader beside many others in one process: a large read waits for its turn, which lasts until the events are stored, so that
 * the memory is that of a few large windows, however many slots lag behind.
 */
export function readInTurns(reader: EventLogReader, turns: Turns): TurnReader {
  const open: Record<Lane, Turn[]> = { live: [], historical: [] };
  const isLarge: Record<Lane, boolean> = { live: false, historical: false };

  const endTurns = (lane: Lane, isOver: (turn: Turn) => boolean): void => {
    for (const turn of open[lane]) if (isOver(turn)) turn.end();
    open[lane] = open[lane].filter((turn) => !isOver(turn));
  };
  const endAll = (): void => {
    for (const lane of lanes) endTurns(lane, () => true);
  };
  const takeTurn = async (lane: Lane, from: number): Promise<void> => {
    // The same range once more.
    if (open[lane].some((turn) => turn.from === from)) return;
    const end = await turns.take();
    // Only now: others may have ended meanwhile, and the list is a new one then.
    open[lane].push({ from, end });
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
    letGo: endAll,
    close: async () => {
      endAll();
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
