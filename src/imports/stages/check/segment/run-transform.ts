import { fieldWords, type AdviceWords } from '../../../run/advice-words.ts';
import { RunFailedError } from '../../../run/leased-run.ts';
import type { Run, RunTransform } from '../../../run/run.ts';
import { SourceWaitError } from '../../../source.ts';
import { TransformError, type Transform } from '../../../transform.ts';

/**
 * Finds the transform of a run in the version of when the run was created. `receivedAt` is the arrival time given to events, in ms since
 * the epoch. Throws TransformError.
 */
export type OpenRunTransform = (transform: RunTransform, receivedAt: number) => Promise<Transform>;

/**
 * Opens the transform of a run; `undefined` if it has none. Failures of the code become RunFailedError, or SourceWaitError where waiting
 * may help.
 */
export async function runTransform(
  { openTransform, words }: { readonly openTransform: OpenRunTransform | undefined; readonly words: AdviceWords },
  run: Run,
): Promise<Transform | undefined> {
  const { transform } = run.options;
  if (transform === undefined) return undefined;
  if (openTransform === undefined) {
    throw new RunFailedError(`expected the code of the transform "${transform.name}", got none; ${words.startAgain}`);
  }
  const guarded = <Result>(work: () => Promise<Result>): Promise<Result> => withRunErrors(work, words);
  const found = await guarded(() => openTransform(transform, run.createdAt));
  return {
    ...found,
    open: async () => {
      const opened = await guarded(() => found.open());
      return {
        refused: opened.refused,
        run: (events) => guarded(() => opened.run(events)),
        close: () => opened.close(),
      };
    },
  };
}

/** Translates TransformError to the errors of a stage. */
async function withRunErrors<Result>(work: () => Promise<Result>, words: AdviceWords = fieldWords): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TransformError)) throw error;
    if (error.retry) throw new SourceWaitError(error.message, { unlimited: false, cause: error });
    throw new RunFailedError(`${error.message}; correct it and ${words.startCorrected}`, { cause: error });
  }
}
