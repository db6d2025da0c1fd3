import type { Chosen } from '../../formats/format.ts';
import { countReason, type Findings } from './findings.ts';

/** Counts what the choice of the run made of the events of a segment. */
export interface ChoiceTally {
  choose(chosen: Chosen): void;
  /** Nothing where there is no choice. */
  found(): Pick<Findings, 'choice'>;
}

export function createChoiceTally(): ChoiceTally {
  const leftOut = new Map<string, number>();
  let events = 0;
  return {
    choose: ({ read, leftOut: reasons }) => {
      events += read;
      for (const reason of reasons) countReason(leftOut, reason, 1);
    },
    found: () => (events === 0 ? {} : { choice: { read: events, leftOut: Object.fromEntries(leftOut) } }),
  };
}
