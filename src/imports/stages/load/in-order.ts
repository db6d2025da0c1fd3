interface InOrder<Item, Result> {
  /** Maximum number of concurrent items. */
  readonly max: number;
  readonly work: (item: Item) => Promise<Result>;
  /** Called for every result in the order of the items, one at a time. */
  readonly done: (result: Result) => Promise<void>;
  /** Called after a failure: concurrent work should end soon. */
  readonly onFailure: () => void;
}

/** Processes several items concurrently and passes on the results in order. After a failure no work continues. */
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
      // The await reports a failure; until then it must not count as unhandled.
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
