/** A step is at least this large. */
const keysMin = 500;
const keysMax = 25_000;
/** Live events wait for a step; a delay up to this is acceptable. */
const acceptableMs = 2000;

/**
 * Chooses the number of keys of the next step of a rebuild. Each step reads all events of the project, however few keys it has, so
 * steps grow as long as they take less than twice the time of the fastest one, which is mostly reading.
 */
export class StepSize {
  keys = keysMin;
  #fastestMs = Infinity;

  /** @param ms duration of a step with `keys` keys */
  took(ms: number): void {
    this.#fastestMs = Math.min(this.#fastestMs, ms);
    const isFast = ms <= Math.max(acceptableMs, 2 * this.#fastestMs);
    this.keys = isFast ? Math.min(keysMax, this.keys * 2) : Math.max(keysMin, Math.floor(this.keys / 2));
  }
}
