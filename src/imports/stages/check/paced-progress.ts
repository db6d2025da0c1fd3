import type { OnLines } from './check-segment.ts';

/** Passes on how far a segment is at most once in `everyMs`, so that showing progress costs a check next to nothing. */
export function paced(everyMs: number, onLines: OnLines): OnLines {
  let last = performance.now();
  return (lines) => {
    const now = performance.now();
    if (now - last < everyMs) return;
    last = now;
    onLines(lines);
  };
}
