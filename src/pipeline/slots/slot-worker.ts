import { setTimeout as sleep } from 'node:timers/promises';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  claimSlots,
  joinWorkers,
  leaveWorkers,
  releaseSlots,
  renewSlots,
  slotLeaseMs,
  type LeaseOptions,
  type SlotHold,
  type Workers,
} from '../../stores/metadata/slot-leases.ts';
import type { Log } from '../../server/telemetry/log.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { Pipeline } from '../consumer.ts';

export interface SlotWorkerDeps {
  /** For leases only: a renewal must not wait for connections that the consumers use. */
  readonly db: Metadata;
  /** Unique id of this worker. */
  readonly owner: string;
  /** Total number of slots. */
  readonly slots: number;
  /** Starts the work on a slot. */
  readonly start: (hold: SlotHold) => Promise<Pipeline>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Default `slotLeaseMs`. */
  readonly leaseMs?: number;
}

export interface SlotWorker {
  /** Finishes current windows, releases every slot, and leaves. */
  stop(): Promise<void>;
  status(): SlotWorkerStatus;
}

export interface SlotWorkerStatus {
  /** Slots that it processes, ascending. */
  readonly slots: readonly number[];
  /** Number of slots that it should hold. */
  readonly share: number;
  /** Why it cannot claim slots; empty: it can. */
  readonly failure: string;
}

/**
 * | a slot of the worker is | its lease  | its consumer         | next                                          |
 * | ----------------------- | ---------- | -------------------- | --------------------------------------------- |
 * | working                 | is renewed | starts, runs         | leaving: it is surplus, or the worker stops   |
 * | leaving                 | is renewed | finishes its window  | released, once the consumer has ended         |
 * | lost                    | has ended  | is stopped, fenced   | removed, once the consumer has ended          |
 */
type SlotState = 'working' | 'leaving' | 'lost';

interface Held {
  readonly hold: SlotHold;
  /** Rejects when it could not be started. */
  readonly pipeline: Promise<Pipeline>;
  state: SlotState;
}

/** Renewals per lease, and polls per lease while slots are missing. */
const renewalsPerLease = 4;
const pollsPerLease = 20;
/** Share of the lease before its end at which the worker stops. */
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
 * Shares the slots with the workers of other processes: leases its share, runs a consumer for each, and releases any surplus. When its
 * leases cannot be renewed it stops by its own monotonic clock before they expire. Stored data does not depend on that, since
 * every write is fenced (holdSlot): it only prevents two workers from computing the same in vain.
 */
class Worker {
  readonly #deps: SlotWorkerDeps;
  readonly #lease: LeaseOptions;
  /** Slots by number, including those whose consumer is still ending. */
  readonly #held = new Map<number, Held>();
  #share = 0;
  #isStopping = false;
  #failure = '';
  #failures = 0;
  /** Delays claims after a failed start, which would immediately fail again. */
  #claimAt = 0;
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

  /** Resolves once the worker has been stopped and all of its consumers have ended. */
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
      if (this.#failures++ === 0) this.#deps.log.error({ err: error }, 'failed to lease slots, retrying');
    }
  }

  async #turn(): Promise<void> {
    this.#share = shareOf(this.#deps.slots, await joinWorkers(this.#deps.db, this.#lease));
    this.#releaseSurplus();
    await this.#renew();
    await this.#claimMissing();
  }

  /** Leaves first, so that other workers immediately see their larger share. */
  async #leave(): Promise<void> {
    this.#share = 0;
    this.#releaseSurplus();
    await leaveWorkers(this.#deps.db, this.#lease.owner);
    await this.#renew();
  }

  /** Sleeps until a consumer ends or the worker is stopped. */
  async #rest(ms: number): Promise<void> {
    if (!this.#wake.signal.aborted) await sleep(ms, undefined, { signal: this.#wake.signal }).catch(() => undefined);
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
  }

  async #renew(): Promise<void> {
    const requestedAt = performance.now();
    const renewed = await renewSlots(this.#deps.db, this.#lease);
    this.#watch(requestedAt);
    const epochs = new Map(renewed.map(({ slot, epoch }) => [slot, epoch]));
    for (const held of this.#held.values()) {
      if (epochs.get(held.hold.slot) !== held.hold.epoch) this.#lose(held);
      epochs.delete(held.hold.slot);
    }
    // Slots that it lost by its own clock, and that no other worker has claimed.
    await releaseSlots(this.#deps.db, this.#lease.owner, [...epochs.keys()]);
  }

  /** Stops all consumers when no renewal arrives in time. `requestedAt`: time of the last request. */
  #watch(requestedAt: number): void {
    clearTimeout(this.#watchdog);
    const leftMs = Math.max(0, requestedAt + this.#lease.leaseMs * (1 - marginShare) - performance.now());
    this.#watchdog = setTimeout(() => {
      if (this.#held.size > 0) this.#deps.log.warn({}, 'slot leases expired before renewal');
      for (const held of this.#held.values()) this.#lose(held);
    }, leftMs).unref();
  }

  #lose(held: Held): void {
    this.#finish(held, 'lost');
  }

  /** Releases each as soon as its consumer has ended, so that another worker can continue. */
  #releaseSurplus(): void {
    for (const held of this.#working().slice(this.#share)) this.#finish(held, 'leaving');
  }

  #finish(held: Held, state: Exclude<SlotState, 'working'>): void {
    const isEnding = held.state !== 'working';
    if (state === 'lost' && held.state !== 'lost') this.#deps.metrics.count('millrace_slots_lost_total', {});
    held.state = state;
    if (!isEnding) void this.#end(held);
  }

  async #end(held: Held): Promise<void> {
    const { slot } = held.hold;
    await held.pipeline.then((pipeline) => pipeline.stop(), ignoreReported);
    // Still held: until it is released it is renewed, and not claimed again.
    if (held.state === 'leaving') await this.#release(slot);
    if (this.#held.get(slot) === held) this.#held.delete(slot);
    this.#wake.abort();
  }

  async #release(slot: number): Promise<void> {
    try {
      await releaseSlots(this.#deps.db, this.#lease.owner, [slot]);
    } catch (error) {
      this.#deps.log.warn({ slot, err: error }, 'failed to release a slot; its lease has to expire');
    }
  }

  async #claimMissing(): Promise<void> {
    const requestedAt = performance.now();
    if (requestedAt < this.#claimAt) return;
    const claimed = await claimSlots(this.#deps.db, this.#lease, this.#missing());
    if (claimed.length > 0) this.#watch(requestedAt);
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
          // It ends on its own only when it finds the slot lost.
          if (held.state === 'working') this.#lose(held);
        });
      },
      (error: unknown) => {
        this.#claimAt = performance.now() + this.#lease.leaseMs / 2;
        this.#startFailure = `slot ${hold.slot} cannot be started: ${error instanceof Error ? error.message : String(error)}`;
        this.#deps.log.error({ slot: hold.slot, err: error }, 'failed to start a slot, releasing it');
        this.#finish(held, 'leaving');
      },
    );
  }

  /** @param before the consumer that this process had for the slot before it was lost; only one may run */
  async #start(hold: SlotHold, before: Held | undefined): Promise<Pipeline> {
    await before?.pipeline.then((pipeline) => pipeline.stop(), ignoreReported);
    return await this.#deps.start(hold);
  }

  #missing(): number {
    return this.#share - [...this.#held.values()].filter(({ state }) => state !== 'lost').length;
  }

  #working(): Held[] {
    return [...this.#held.values()].filter(({ state }) => state === 'working');
  }
}

/** The failure of a start is reported where it is started. */
function ignoreReported(): void {
  return undefined;
}

/** Returns the number of slots for this worker: the shares cover all slots and differ by at most one. */
export function shareOf(slots: number, { count, rank }: Workers): number {
  return Math.floor(slots / count) + (rank < slots % count ? 1 : 0);
}
