export interface InOrder<Item, Result> {
  /** Items under way at the same time, at most. */
  readonly max: number;
  readonly work: (item: Item) => Promise<Result>;
  /** Called for every result in the order of the items, one at a time. */
  readonly done: (result: Result) => Promise<void>;
  /** Something failed: what is under way should end soon. */
  readonly onFailure: () => void;
}

/** Works on several items at once and hands the results on in order. After a failure nothing is left under way. */
export async function inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  { max, work, done, onFailure }: InOrder<Item, Result>,
): Promise<void> {
  const underWay: Promise<Result>[] = [];
  const next = async (): Promise<void> => {
    const first = underWay[0];
    if (first === undefined) return;
    const result = await first;
    underWay.shift();
    await done(result);
  };
  try {
    for await (const item of items) {
      while (underWay.length >= max) await next();
      const result = work(item);
      // Whoever waits for it hears of the failure; until then it is nobody's.
      result.catch(() => undefined);
      underWay.push(result);
    }
    while (underWay.length > 0) await next();
  } catch (error) {
    onFailure();
    await Promise.allSettled(underWay);
    throw error;
  }
}
