/** Free share of the disk below which stores begin to fail in unpredictable ways. */
const freeShareMin = 0.05;
const freeBytesMin = 1024 ** 3;

export interface DiskRoom {
  readonly free_bytes: number;
  readonly total_bytes: number;
}

export function isDiskLow({ free_bytes: free, total_bytes: total }: DiskRoom): boolean {
  return free < freeBytesMin || free < total * freeShareMin;
}

/** Returns one sentence. */
export function diskWords({ free_bytes: free }: DiskRoom): string {
  return `The disk of the data directory has ${Math.round(free / 1024 ** 2)} MB left.`;
}
