import type { JsonValue } from '../../base/json.ts';

/** Characters of JSON that one trial shows in all: the event after every step, what changed, and what was left behind. */
export const trialCharsMax = 4_000_000;
/** What a plugin may hand to its calls for one event of a trial: the largest call, so that it is shown as cut off, and as much as can be shown. */
export const trialCallCharsMax = 12_500_000;

/** Room in the answer of a trial, shared by all of its steps. */
export class TrialBudget {
  #left = trialCharsMax;

  /** For the next event. */
  reset(): void {
    this.#left = trialCharsMax;
  }

  /** Takes the room that the values need; false: there is not so much. */
  takes(...values: readonly (JsonValue | object)[]): boolean {
    const left = this.#left - jsonChars(values, this.#left);
    if (left < 0) return false;
    this.#left = left;
    return true;
  }
}

/** About as many characters as the value has as JSON, but no more than just above `max`. */
function jsonChars(value: unknown, max: number): number {
  // A list instead of a recursion: plugins may nest as deeply as they like.
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
