import { burstSeconds, missingIn, refill, type BucketSpeed, type TokenBucket } from './token-bucket.ts';

/**
 * A limit per second of one project, as one process applies it. Processes of a cluster divide the limit by what each was offered, so that
 * together they admit as much as one would.
 */
export class Meter implements TokenBucket, BucketSpeed {
  tokens: number;
  filledAt: number;
  /** The share of this process. */
  perSecond: number;
  capacity: number;
  /** The limit of all processes, per second. */
  readonly limit: number;
  /** Offered to this process and to all per second, admitted or not, averaged over a few seconds. */
  own = 0;
  all = 0;
  /** Offered since the last `tick`, and between the last two. */
  #offered = 0;
  #lastOffered = 0;
  /** Sum of all processes at the last `learn`. `undefined` while this process has too small a part in it to exchange it. */
  #sum: number | undefined;
  #seconds = 1;

  constructor(limit: number, processes: number, now: number) {
    this.limit = limit;
    this.perSecond = limit / processes;
    this.capacity = this.perSecond * burstSeconds;
    this.tokens = this.capacity;
    this.filledAt = now;
  }

  /** Counts what is offered, and returns the seconds until it may be admitted; 0 if it may be now. */
  offer(amount: number, now: number): number {
    this.#offered += amount;
    refill(this, this, now);
    const missing = missingIn(this, this, amount);
    return missing > 0 ? missing / this.perSecond : 0;
  }

  /** Averages what was offered since the last call. */
  tick(seconds: number, processes: number): void {
    this.#seconds = seconds;
    this.#lastOffered = this.#offered;
    this.#offered = 0;
    this.own = (this.own + this.#lastOffered / seconds) / 2;
    if (this.isShared(processes)) return;
    this.#sum = undefined;
    this.all = this.own;
    this.#share(processes);
  }

  /** Whether this process must exchange its part: below, what every process may admit in any case is enough for it. */
  isShared(processes: number): boolean {
    return processes > 1 && this.own > (this.limit * dividedEqually) / processes;
  }

  /** Whether nothing is left to remember. */
  isIdle(now: number): boolean {
    refill(this, this, now);
    return this.own < idlePerSecond && this.tokens === this.capacity;
  }

  /** Offered between the last two ticks. */
  unpublished(): number {
    return Math.round(this.#lastOffered);
  }

  /** Receives the sum of what all processes were offered, this one included. */
  learn(sum: number, processes: number): void {
    // A smaller sum than expected is that of a new window.
    const before = this.#sum !== undefined && sum >= this.#sum + this.#lastOffered ? this.#sum : 0;
    // Until there is a difference to read, the others are assumed to be offered as much.
    const all = this.#sum === undefined ? this.own * processes : (this.all + (sum - before) / this.#seconds) / 2;
    this.#sum = sum;
    this.all = Math.max(this.own, all);
    this.#share(processes);
  }

  #share(processes: number): void {
    this.perSecond = shareOf(this.limit, this.own, this.all, processes);
    this.capacity = this.perSecond * burstSeconds;
  }
}

/** Part of a limit that is divided equally: a process can admit it without having asked the others. */
const dividedEqually = 0.1;
const idlePerSecond = 0.001;

/** Returns the part of a limit that a process may admit, of which it was offered `own` and all processes together `all`. The parts sum up to the limit. */
export function shareOf(limit: number, own: number, all: number, processes: number): number {
  const byOffer = Math.min(all, limit * (1 - dividedEqually));
  return (all > 0 ? (byOffer * own) / all : 0) + (limit - byOffer) / processes;
}
