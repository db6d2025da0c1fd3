import type { LiveSkipped, LiveStage } from '../../wire/contract/live-events.ts';
import type { Sighting } from './watch.ts';

const waitingMax = 1000;
const waitingBytesMax = 4 * 1024 * 1024;

/**
 * Buffers a limited number of messages for one reader of the live stream. A reader that is too slow gets a count of what it missed,
 * and blocks nothing.
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

  /** Takes the buffered messages, oldest first. */
  take(): readonly string[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#news = Promise.withResolvers();
    return taken;
  }

  /** Takes the counts since the last call; undefined if nothing was skipped. */
  takeSkipped(): LiveSkipped | undefined {
    if (!this.#hasSkipped) return undefined;
    const skipped = { rate: this.#rate, slow: this.#slow };
    this.#rate = {};
    this.#slow = {};
    this.#hasSkipped = false;
    return skipped;
  }

  /** Resolves as soon as a message is buffered. */
  get news(): Promise<void> {
    return this.#news.promise;
  }
}
