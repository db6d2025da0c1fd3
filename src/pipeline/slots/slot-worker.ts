import { setTimeout as sleep } from 'node:timers/promises';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  claimSlots,
  joinWorkers,
  leaveWorkers,
  releaseSlots,
  renewSlots,
  type LeaseOptions,
  type Workers,
} from '../../stores/metadata/slot-leases.ts';
import { slotLeaseMs, type SlotHold } from '../../stores/metadata/slots.ts';
import type { Log } from '../../server/telemetry/log.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { Pipeline } from '../consumer.ts';

export interface SlotWorkerDeps {
  /** For leases alone: a renewal must not wait for the connections of those who work. */
  readonly db: Metadata;
  /** Id of this worker, like no other. */
  readonly owner: string;
  /** How many there are in all. */
  readonly slots: number;
  /** Starts the work on a slot. */
  readonly start: (hold: SlotHold) => Promise<Pipeline>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Default 10,000. */
  readonly leaseMs?: number;
}

export interface SlotWorker {
  /** Finishes what is in hand, gives every slot back, and leaves. */
  stop(): Promise<void>;
  status(): SlotWorkerStatus;
}

export interface SlotWorkerStatus {
  /** Slots that it works on, ascending. */
  readonly slots: readonly number[];
  /** What it should have. */
  readonly share: number;
  /** Why it can take no slot for now; empty when all is well. */
  readonly failure: string;
}

/**
 * | a slot of the worker is | its lease  | its consumer         | next                                          |
 * | ----------------------- | ---------- | -------------------- | --------------------------------------------- |
 * | working                 | is renewed | starts, runs         | leaving: it is surplus, or the worker stops   |
 * | leaving                 | is renewed | finishes its window  | given back, once the consumer has ended       |
 * | lost                    | is over    | is stopped, fenced   | forgotten, once the consumer has ended        |
 */
type SlotState = 'working' | 'leaving' | 'lost';

interface Held {
  readonly hold: SlotHold;
  /** Rejects when it could not be started. */
  readonly pipeline: Promise<Pipeline>;
  state: SlotState;
}

/** Renewals within a lease, and looks at what is free while something is missing. */
const renewalsPerLease = 4;
const pollsPerLease = 20;
/** Of the lease, at its end: there the worker has stopped already. */
const marginShare = 0.1;

export function startSlotWorker(deps: SlotWorkerDeps): SlotWorker {
  const worker = new Worker(deps);
  const done = worker.run();
  return {
    stop: () => {
      worker.stop();
      return done;
    },
    status: () => worker.status(),
  };
}

/**
 * Shares the slots with the workers of other processes: leases its part of them, works on each, and gives back what is more than
 * its part. When its leases cannot be renewed it stops by its own monotonic clock before they are over. Nothing that is stored
 * depends on that: every write is fenced (holdSlot). It only keeps two workers from computing the same for nothing.
 */
class Worker {
  readonly #deps: SlotWorkerDeps;
  readonly #lease: LeaseOptions;
  /** Those that end stay in it until they have. */
  readonly #held = new Map<number, Held>();
  #share = 0;
  #isStopping = false;
  #failure = '';
  #failures = 0;
  /** After a start that failed: what failed once would fail again at once. */
  #claimsAgainAt = 0;
  #startFailure = '';
  #wake = new AbortController();
  #watchdog: NodeJS.Timeout | undefined;

  constructor(deps: SlotWorkerDeps) {
    this.#deps = deps;
    this.#lease = { owner: deps.owner, leaseMs: deps.leaseMs ?? slotLeaseMs };
  }

  stop(): void {
    this.#isStopping = true;
    this.#wake.abort();
  }

  status(): SlotWorkerStatus {
    const working = this.#working();
    return {
      slots: working.map(({ hold }) => hold.slot).toSorted((a, b) => a - b),
      share: this.#share,
      failure: this.#failure || this.#startFailure,
    };
  }

  /** Ends once the worker was told to stop and all that it held has ended. */
  async run(): Promise<void> {
    while (!this.#isStopping || this.#held.size > 0) {
      await this.#tryTurn();
      this.#deps.metrics.set('millrace_slots_held', {}, this.#working().length);
      const isShort = this.#missing() > 0;
      await this.#rest(this.#lease.leaseMs / (isShort ? pollsPerLease : renewalsPerLease));
    }
    clearTimeout(this.#watchdog);
  }

  async #tryTurn(): Promise<void> {
    try {
      await (this.#isStopping ? this.#leave() : this.#turn());
      this.#failure = '';
      this.#failures = 0;
    } catch (error) {
      this.#failure = `slots cannot be leased: ${error instanceof Error ? error.message : String(error)}`;
      if (this.#failures++ === 0) this.#deps.log.error({ err: error }, 'slots cannot be leased; trying again');
    }
  }

  async #turn(): Promise<void> {
    this.#share = shareOf(this.#deps.slots, await joinWorkers(this.#deps.db, this.#lease));
    this.#giveBackSurplus();
    await this.#renew();
    await this.#claimMissing();
  }

  /** The others see at once that there is more for them. */
  async #leave(): Promise<void> {
    this.#share = 0;
    this.#giveBackSurplus();
    await leaveWorkers(this.#deps.db, this.#lease.owner);
    await this.#renew();
  }

  /** Until something ends or the worker is told to stop. */
  async #rest(ms: number): Promise<void> {
    if (!this.#wake.signal.aborted) await sleep(ms, undefined, { signal: this.#wake.signal }).catch(() => undefined);
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
  }

  async #renew(): Promise<void> {
    const askedAt = performance.now();
    const renewed = await renewSlots(this.#deps.db, this.#lease);
    this.#watch(askedAt);
    const epochs = new Map(renewed.map(({ slot, epoch }) => [slot, epoch]));
    for (const held of this.#held.values()) {
      if (epochs.get(held.hold.slot) !== held.hold.epoch) this.#lose(held);
      epochs.delete(held.hold.slot);
    }
    // Those that it gave up too late for its own clock, and that nobody has taken.
    await releaseSlots(this.#deps.db, this.#lease.owner, [...epochs.keys()]);
  }

  /** Stops everything when no renewal comes in time. `askedAt`: when the last one was asked for. */
  #watch(askedAt: number): void {
    clearTimeout(this.#watchdog);
    const leftMs = Math.max(0, askedAt + this.#lease.leaseMs * (1 - marginShare) - performance.now());
    this.#watchdog = setTimeout(() => {
      if (this.#held.size > 0) this.#deps.log.warn({}, 'the leases of the slots could not be renewed in time');
      for (const held of this.#held.values()) this.#lose(held);
    }, leftMs).unref();
  }

  #lose(held: Held): void {
    this.#finish(held, 'lost');
  }

  /** Each is given back as soon as its consumer has ended, so that others go on with it. */
  #giveBackSurplus(): void {
    for (const held of this.#working().slice(this.#share)) this.#finish(held, 'leaving');
  }

  #finish(held: Held, state: Exclude<SlotState, 'working'>): void {
    const isUnderWay = held.state !== 'working';
    if (state === 'lost' && held.state !== 'lost') this.#deps.metrics.count('millrace_slots_lost_total', {});
    held.state = state;
    if (!isUnderWay) void this.#end(held);
  }

  async #end(held: Held): Promise<void> {
    const { slot } = held.hold;
    await held.pipeline.then((pipeline) => pipeline.stop(), noted);
    // Still its own: until it is given back it is renewed, and not claimed again.
    if (held.state === 'leaving') await this.#release(slot);
    if (this.#held.get(slot) === held) this.#held.delete(slot);
    this.#wake.abort();
  }

  async #release(slot: number): Promise<void> {
    try {
      await releaseSlots(this.#deps.db, this.#lease.owner, [slot]);
    } catch (error) {
      const consequence = 'a slot could not be given back; others get it when its lease is over';
      this.#deps.log.warn({ slot, err: error }, consequence);
    }
  }

  async #claimMissing(): Promise<void> {
    const askedAt = performance.now();
    if (askedAt < this.#claimsAgainAt) return;
    const claimed = await claimSlots(this.#deps.db, this.#lease, this.#missing());
    if (claimed.length > 0) this.#watch(askedAt);
    for (const hold of claimed) this.#begin(hold);
  }

  #begin(hold: SlotHold): void {
    const before = this.#held.get(hold.slot);
    const held: Held = { hold, pipeline: this.#start(hold, before), state: 'working' };
    this.#held.set(hold.slot, held);
    held.pipeline.then(
      (pipeline) => {
        this.#startFailure = '';
        void pipeline.done.then(() => {
          // By itself it ends only when it finds the slot lost.
          if (held.state === 'working') this.#lose(held);
        });
      },
      (error: unknown) => {
        this.#claimsAgainAt = performance.now() + this.#lease.leaseMs / 2;
        this.#startFailure = `slot ${hold.slot} cannot be worked on: ${error instanceof Error ? error.message : String(error)}`;
        const consequence = 'the work on a slot could not be started; it is given back, and claimed again';
        this.#deps.log.error({ slot: hold.slot, err: error }, consequence);
        this.#finish(held, 'leaving');
      },
    );
  }

  /** `before`: the consumer of the same slot in this process, from before it was lost; one at a time. */
  async #start(hold: SlotHold, before: Held | undefined): Promise<Pipeline> {
    await before?.pipeline.then((pipeline) => pipeline.stop(), noted);
    return await this.#deps.start(hold);
  }

  #missing(): number {
    return this.#share - [...this.#held.values()].filter(({ state }) => state !== 'lost').length;
  }

  #working(): Held[] {
    return [...this.#held.values()].filter(({ state }) => state === 'working');
  }
}

/** The failure of a start is told where it is started. */
function noted(): void {
  return undefined;
}

/** How many of the slots are this worker's: all of them are somebody's, and no worker has two more than another. */
export function shareOf(slots: number, { count, rank }: Workers): number {
  return Math.floor(slots / count) + (rank < slots % count ? 1 : 0);
}
