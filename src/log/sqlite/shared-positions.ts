import { lanes, type Lane } from '../eventlog.ts';

/**
 * Positions that threads exchange through a block of shared memory, without messages.
 *
 * Layout: int32 [0] counts appends, [1] counts commits (both only to wait on);
 * int64 from byte 8 on, per lane: highest readable seq, highest committed seq.
 */
export interface SharedPositions {
  appended(lane: Lane): number;
  /** Makes records up to `seq` readable and wakes the readers. */
  setAppended(lane: Lane, seq: number): void;
  consumed(lane: Lane): number;
  /** Never decreases. */
  setConsumed(lane: Lane, seq: number): void;
  appendCount(): number;
  /** Resolves once appendCount() differs from `seen`, when woken, or after `timeoutMs`. Does not keep the process alive. */
  appendCountChange(seen: number, timeoutMs: number): Promise<void>;
  commitCount(): number;
  commitCountChange(seen: number): Promise<void>;
  /** Wakes all waiters without a change. */
  wakeAll(): void;
}

const headBytes = 8;
const appendCounter = 0;
const commitCounter = 1;

export function createSharedMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(headBytes + lanes.length * 16);
}

export function sharedPositions(memory: SharedArrayBuffer): SharedPositions {
  const counters = new Int32Array(memory, 0, 2);
  const positions = new BigInt64Array(memory, headBytes);
  const appendedAt = (lane: Lane) => lanes.indexOf(lane) * 2;
  const consumedAt = (lane: Lane) => lanes.indexOf(lane) * 2 + 1;
  const count = (counter: number) => {
    Atomics.add(counters, counter, 1);
    Atomics.notify(counters, counter);
  };
  const change = async (counter: number, seen: number, timeoutMs?: number) => {
    const result = Atomics.waitAsync(counters, counter, seen, timeoutMs);
    if (result.async) await result.value;
  };
  return {
    appended: (lane) => Number(Atomics.load(positions, appendedAt(lane))),
    setAppended: (lane, seq) => {
      Atomics.store(positions, appendedAt(lane), BigInt(seq));
      count(appendCounter);
    },
    consumed: (lane) => Number(Atomics.load(positions, consumedAt(lane))),
    setConsumed: (lane, seq) => {
      const index = consumedAt(lane);
      const wanted = BigInt(seq);
      let current = Atomics.load(positions, index);
      while (wanted > current) {
        const found = Atomics.compareExchange(positions, index, current, wanted);
        if (found === current) break;
        current = found;
      }
      count(commitCounter);
    },
    appendCount: () => Atomics.load(counters, appendCounter),
    appendCountChange: (seen, timeoutMs) => change(appendCounter, seen, timeoutMs),
    commitCount: () => Atomics.load(counters, commitCounter),
    commitCountChange: (seen) => change(commitCounter, seen),
    wakeAll: () => {
      Atomics.notify(counters, appendCounter);
      Atomics.notify(counters, commitCounter);
    },
  };
}
