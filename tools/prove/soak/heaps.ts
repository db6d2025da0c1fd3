/** Heap sizes that V8 reports at each collection (`node --trace-gc`): each thread has a separate heap. */
export interface Heaps {
  /** As V8 writes it, in pieces. */
  read(text: string): void;
  /** Bytes that the last full collection of each thread has left: what is in use. Undefined before there was one. */
  liveBytes(): number | undefined;
  /** Bytes that V8 holds for them, free ones among them: it keeps pages for later, and gives them back now and then. */
  heldBytes(): number;
}

interface Heap {
  liveMegabytes?: number;
  heldMegabytes: number;
}

const collection =
  /^\[\d+:(0x[0-9a-f]+)\] +\d+ ms: (Mark-Compact|Scavenge)(?: \([^)]*\))? [\d.]+ \([\d.]+\) -> ([\d.]+) \(([\d.]+)\) MB, pooled: ([\d.]+) MB/;
/** V8 means this by MB. */
const bytesPerMegabyte = 1024 * 1024;

export function createHeaps(): Heaps {
  const heaps = new Map<string, Heap>();
  let rest = '';
  const take = (line: string): void => {
    const [, thread, kind, left, committed, pooled] = collection.exec(line) ?? [];
    if (thread === undefined) return;
    const heap: Heap = { ...heaps.get(thread), heldMegabytes: Number(committed) + Number(pooled) };
    if (kind === 'Mark-Compact') heap.liveMegabytes = Number(left);
    heaps.set(thread, heap);
  };
  return {
    read: (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) take(line);
    },
    liveBytes: () => {
      const live = [...heaps.values()].flatMap(({ liveMegabytes }) => liveMegabytes ?? []);
      return live.length === 0 ? undefined : sum(live) * bytesPerMegabyte;
    },
    heldBytes: () => sum([...heaps.values()].map(({ heldMegabytes }) => heldMegabytes)) * bytesPerMegabyte,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
