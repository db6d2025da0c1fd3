import { shareOfText } from '../../base/share-of-text.ts';
import type { Filter } from './step.ts';

const knownMax = 100_000;

/** Of one distinct id all events or none; the same ids as the transformation `downsampling` keeps. */
export function samplePersons(share: number): Filter {
  const known = new Map<string, boolean>();
  return ({ distinct_id: id }) => {
    let isIn = known.get(id);
    if (isIn === undefined) {
      if (known.size >= knownMax) known.clear();
      isIn = shareOfText(id) <= share;
      known.set(id, isIn);
    }
    return isIn ? undefined : 'not in the sample';
  };
}
