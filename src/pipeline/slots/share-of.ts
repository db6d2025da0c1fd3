import type { Workers } from '../../stores/metadata/slot-leases.ts';

/** How many of the slots are this worker's: all of them are somebody's, and no worker has two more than another. */
export function shareOf(slots: number, { count, rank }: Workers): number {
  return Math.floor(slots / count) + (rank < slots % count ? 1 : 0);
}
