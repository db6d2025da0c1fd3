import { fieldWords, type AdviceWords } from '../../../run/advice-words.ts';
import { RunFailedError } from '../../../run/leased-run.ts';
import type { Run, RunTransform } from '../../../run/run.ts';
import { SourceWaitError } from '../../../source.ts';
import { TransformError, type Transform } from '../../../transform.ts';

/**
 * Finds the code that a run names, as it was when the run was made. `receivedAt`: ms since the epoch, what events say of their
 * arrival. Throws TransformError.
 */
export type OpenRunTransform = (transform: RunTransform, receivedAt: number) => Promise<Transform>;

/** Of a run that names none: undefined. What the code cannot do is a RunFailedError, or a SourceWaitError where waiting may cure it. */
export async function runTransform(
  { openTransform, words }: { readonly openTransform: OpenRunTransform | undefined; readonly words: AdviceWords },
  run: Run,
): Promise<Transform | undefined> {
  const { transform } = run.options;
  if (transform === undefined) return undefined;
  if (openTransform === undefined) {
    throw new RunFailedError(`expected the code of the transform "${transform.name}", got none; ${words.startAgain}`);
  }
  const judged = <Result>(work: () => Promise<Result>): Promise<Result> => judgeErrors(work, words);
  const found = await judged(() => openTransform(transform, run.createdAt));
  return {
    ...found,
    open: async () => {
      const opened = await judged(() => found.open());
      return {
        refused: opened.refused,
        run: (events) => judged(() => opened.run(events)),
        close: () => opened.close(),
      };
    },
  };
}

async function judgeErrors<Result>(work: () => Promise<Result>, words: AdviceWords = fieldWords): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    if (error.retry) throw new SourceWaitError(error.message, { unlimited: false, cause: error });
    throw new RunFailedError(`${error.message}; correct it and ${words.startCorrected}`, { cause: error });
  }
}
