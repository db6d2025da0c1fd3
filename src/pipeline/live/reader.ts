import type { LiveSkipped, LiveStage } from '../../wire/contract/live-events.ts';
import type { Sighting } from './watch.ts';

const waitingMax = 1000;
const waitingBytesMax = 4 * 1024 * 1024;

/**
 * What waits for one reader of the live stream: a little. A reader that takes it too slowly gets a count of what it missed, and
 * nobody waits for it.
 */
export class LiveReader {
  #waiting: string[] = [];
  #waitingChars = 0;
  #rate: Partial<Record<LiveStage, number>> = {};
  #slow: Partial<Record<LiveStage, number>> = {};
  #hasSkipped = false;
  #news = Promise.withResolvers<void>();

  see({ stage, json }: Sighting): void {
    if (this.#waiting.length >= waitingMax || this.#waitingChars + json.length > waitingBytesMax) {
      this.#slow[stage] = (this.#slow[stage] ?? 0) + 1;
      this.#hasSkipped = true;
      return;
    }
    this.#waiting.push(json);
    this.#waitingChars += json.length;
    this.#news.resolve();
  }

  skipped(stage: LiveStage, count: number): void {
    this.#rate[stage] = (this.#rate[stage] ?? 0) + count;
    this.#hasSkipped = true;
  }

  /** Everything that waits, oldest first. */
  take(): readonly string[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#news = Promise.withResolvers();
    return taken;
  }

  /** Counts since the last time; undefined: nothing was left out. */
  takeSkipped(): LiveSkipped | undefined {
    if (!this.#hasSkipped) return undefined;
    const skipped = { rate: this.#rate, slow: this.#slow };
    this.#rate = {};
    this.#slow = {};
    this.#hasSkipped = false;
    return skipped;
  }

  /** Resolves as soon as something waits. */
  get news(): Promise<void> {
    return this.#news.promise;
  }
}
