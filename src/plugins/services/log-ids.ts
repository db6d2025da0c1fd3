import { v7 } from 'uuid';

/** Ids of log rows order by time and, within a millisecond, by the order in which this process made them. */
export function createLogIds(): (timeMs: number) => string {
  let sequence = 0;
  return (timeMs) => v7({ msecs: timeMs, seq: (sequence = (sequence + 1) & 0x7fffffff) });
}

/** Below every id of this millisecond and later, above every earlier one. */
export function firstLogId(timeMs: number): string {
  const hex = Math.min(Math.max(0, Math.floor(timeMs)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
