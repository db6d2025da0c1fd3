/** Refill speed and capacity of a bucket. */
export interface BucketSpeed {
  readonly perSecond: number;
  readonly capacity: number;
}

export interface TokenBucket {
  /** What may be sent now. Negative after a batch larger than the bucket. */
  tokens: number;
  /** ms. */
  filledAt: number;
}

/** Unused capacity that may be sent at once, in seconds of a limit. */
export const burstSeconds = 10;

/** Adds what has accrued until `now`. */
export function refill(bucket: TokenBucket, { perSecond, capacity }: BucketSpeed, now: number): void {
  const seconds = Math.max(0, now - bucket.filledAt) / 1000;
  bucket.tokens = Math.min(capacity, bucket.tokens + seconds * perSecond);
  bucket.filledAt = now;
}

/**
 * Returns how many tokens the amount lacks; at most 0 if it may be taken. An amount larger than the bucket is admitted when the bucket is
 * full and paid off afterwards, so no batch size is refused forever.
 */
export function missingIn(bucket: TokenBucket, { capacity }: BucketSpeed, amount: number): number {
  return Math.min(amount, capacity) - bucket.tokens;
}
