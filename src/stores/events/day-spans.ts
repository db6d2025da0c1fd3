import type { StoredPart } from './stored-parts.ts';

/** Days of the events' identity of which the same parts hold rows. Two spans never hold rows of one event. */
export interface DaySpan {
  /** Of these days and parts: what is read of them is the same for as long as there is such a span. */
  readonly key: string;
  readonly firstDay: number;
  readonly lastDay: number;
  readonly parts: readonly StoredPart[];
  /** No event is in it twice, so that it can be read without looking for duplicates. */
  readonly isDistinct: boolean;
}

/** All days of which the parts hold rows, in spans as long as possible; ascending. */
export function daySpans(parts: readonly StoredPart[]): DaySpan[] {
  const bounds = new Set(parts.flatMap(({ firstDay, lastDay }) => [firstDay, lastDay + 1]));
  const starts = [...bounds].sort((left, right) => left - right);
  const coming = parts.toSorted((left, right) => left.firstDay - right.firstDay);
  const spans: DaySpan[] = [];
  let next = 0;
  let present: StoredPart[] = [];
  for (const [at, firstDay] of starts.entries()) {
    present = present.filter((part) => part.lastDay >= firstDay);
    for (; coming[next]?.firstDay === firstDay; next++) present.push(coming[next] as StoredPart);
    const end = starts[at + 1];
    if (end !== undefined && present.length > 0) spans.push(spanOf(firstDay, end - 1, [...present]));
  }
  return spans;
}

function spanOf(firstDay: number, lastDay: number, parts: readonly StoredPart[]): DaySpan {
  const ids = parts.map(({ id }) => id).sort((left, right) => left - right);
  const key = `${firstDay} ${lastDay} ${ids.join(' ')}`;
  return { key, firstDay, lastDay, parts, isDistinct: parts.length === 1 && parts[0]?.isMerged === true };
}
