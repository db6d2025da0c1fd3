import {
  noteCodes,
  recordNotes,
  type FoundNote,
  type NoteCode,
  type NoteCount,
  type NoteCounts,
} from '../../../formats/record-notes.ts';
import type { NoteFinding } from '../../../run/results.ts';

export type NoteSum = Map<NoteCode, { count: number; amount: number; readonly samples: Set<string> }>;

const samplesMax = 3;
const sampleCharsMax = 100;

export function createNoteSum(): NoteSum {
  return new Map();
}

export function addNotes(sum: NoteSum, notes: readonly FoundNote[]): void {
  for (const { of, count = 1, amount = 0, sample } of notes) {
    addCount(sum, of, { count, amount, samples: sample === undefined ? [] : [sample] });
  }
}

export function addNoteCounts(sum: NoteSum, counts: NoteCounts): void {
  for (const code of noteCodes) {
    const found = counts[code];
    if (found !== undefined) addCount(sum, code, found);
  }
}

function addCount(sum: NoteSum, of: NoteCode, { count, amount, samples }: NoteCount): void {
  const known = sum.get(of) ?? { count: 0, amount: 0, samples: new Set() };
  known.count += count;
  known.amount += amount;
  for (const sample of samples) if (known.samples.size < samplesMax) known.samples.add(sample.slice(0, sampleCharsMax));
  sum.set(of, known);
}

/** Returns an empty object without notes. */
export function noteCountsOf(sum: NoteSum): { readonly notes?: NoteCounts } {
  if (sum.size === 0) return {};
  const counts = [...sum].map(([code, { samples, ...rest }]) => [code, { ...rest, samples: [...samples] }]);
  return { notes: Object.fromEntries(counts) as NoteCounts };
}

/** Returns notes in the order of the list, so that what is incomplete comes first. */
export function noteFindings(sum: NoteSum): NoteFinding[] {
  return noteCodes.flatMap((of) => {
    const found = sum.get(of);
    if (found === undefined) return [];
    const count: NoteCount = { count: found.count, amount: found.amount, samples: [...found.samples] };
    const { kind, detail } = recordNotes[of];
    return [{ of, kind, ...count, detail: detail(count) }];
  });
}
