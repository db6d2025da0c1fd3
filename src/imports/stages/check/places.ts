/** Does so many pieces of work at a time, at most; the others wait, first come, first served. */
export type Places = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createPlaces(max: number): Places {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async (work) => {
    if (taken < max) taken += 1;
    else await new Promise<void>((take) => waiting.push(take));
    try {
      return await work();
    } finally {
      // Handed over, so that nobody comes in between.
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next();
    }
  };
}
