import type { JsonValue } from '../../base/json.ts';

/** Characters of JSON that one trial shows in total: the event after every step, the differences, and the effects. */
export const trialCharsMax = 4_000_000;
/** Characters that a plugin may pass to its calls for one event of a trial: the largest call, so that it is shown truncated, plus as much as can be shown. */
export const trialCallCharsMax = 12_500_000;

/** Remaining size of a trial's response, shared by all of its steps. */
export class TrialBudget {
  #left = trialCharsMax;

  /** Starts the next event. */
  reset(): void {
    this.#left = trialCharsMax;
  }

  /** Reserves space for the values; returns false if there is not enough. */
  takes(...values: readonly (JsonValue | object)[]): boolean {
    const left = this.#left - jsonChars(values, this.#left);
    if (left < 0) return false;
    this.#left = left;
    return true;
  }
}

/** Returns about the number of characters of the value as JSON, but at most slightly more than `max`. */
function jsonChars(value: unknown, max: number): number {
  // A list instead of recursion: plugins may nest arbitrarily deep.
  const open: unknown[] = [value];
  let chars = 0;
  while (open.length > 0 && chars <= max) {
    const next = open.pop();
    chars += typeof next === 'string' ? next.length + 3 : 3;
    if (typeof next !== 'object' || next === null) continue;
    const members = Object.values(next);
    chars += members.length * 3;
    if (chars > max) break;
    if (!Array.isArray(next)) for (const key of Object.keys(next)) chars += key.length + 3;
    for (const member of members) open.push(member);
  }
  return chars;
}
