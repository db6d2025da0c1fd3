/** A bucket answers many small requests side by side, a disk many small files. */
const atOnce = 8;

/** Does `work` with every item, a few at once, in their order. Rejects with the first error once nothing is at work any more. */
export async function eachAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const item of left) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
