/** How many events to put together, so that working on them takes about so long. */
export interface RunSize {
  readonly events: number;
  /** What a run of that many events took, ms. */
  took(events: number, ms: number): void;
}

export interface RunSizeOptions {
  readonly first: number;
  readonly min: number;
  readonly max: number;
  /** What the events of a run may take, ms. */
  readonly msMax: number;
}

/** Of how much an earlier run counts beside the one after it. */
const fading = 0.9;
/** Sizes that differ by less than this share of their mean tell nothing of what an event costs. */
const spreadMin = 0.1;
/** An event costs at least this share of what a run takes by the event. */
const ownShareMin = 0.1;

/**
 * A run costs something whatever is in it, and much of it where processors are short: taking fewer events would only do the same more
 * often. So what an event costs is the slope of a line through what runs of different sizes took, and the whole of the last run while
 * there are none.
 */
export function createRunSize({ first, min, max, msMax }: RunSizeOptions): RunSize {
  let size = first;
  let [weight, events, ms, squares, products] = [0, 0, 0, 0, 0];
  const slope = (): number | undefined => {
    const spread = squares / weight - (events / weight) ** 2;
    if (spread < (spreadMin * (events / weight)) ** 2) return undefined;
    return (products / weight - (events / weight) * (ms / weight)) / spread;
  };
  return {
    get events() {
      return size;
    },
    took: (count, took) => {
      if (count === 0) return;
      weight = weight * fading + 1;
      events = events * fading + count;
      ms = ms * fading + took;
      squares = squares * fading + count ** 2;
      products = products * fading + count * took;
      const all = Math.max(took, 1) / count;
      const each = Math.min(Math.max(slope() ?? all, all * ownShareMin), all);
      size = Math.min(Math.max(Math.min(Math.floor(msMax / each), size * 2), min), max);
    },
  };
}
