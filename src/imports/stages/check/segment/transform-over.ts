import type { Answers, Call } from '../../../../base/calls.ts';
import type { CodeOutcome, HandedEvent, OpenTransform, Transform, TransformAbout } from '../../../transform.ts';

/** The transform of a run for a thread of its check: the code runs where the thread that asks for the check lets it run. */
export function transformOver(call: Call, about: TransformAbout): Transform {
  return {
    ...about,
    // What `answersOf` gives.
    open: async () => {
      const number = await call('openTransform');
      return {
        // Nothing of a check is told of it.
        refused: new Set(),
        run: async (events) => (await call('runTransform', number, events)) as readonly CodeOutcome[],
        close: async () => void (await call('closeTransform', number)),
      };
    },
  };
}

export interface AnsweredTransform {
  readonly answers: Answers;
  /** Closes what a thread that has ended left open. */
  close(): Promise<void>;
}

/** The other end. `onFailure` gets errors as they are: a thread learns of their names and messages only. */
export function answerTransform(
  transform: Transform | undefined,
  onFailure: (error: Error) => void,
): AnsweredTransform {
  const open = new Map<number, OpenTransform>();
  let last = 0;
  const told = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Error) onFailure(error);
      throw error;
    }
  };
  const opened = (number: number): OpenTransform => {
    const found = open.get(number);
    if (found === undefined) throw new Error('expected a transform that is open');
    return found;
  };
  const close = async (number: number): Promise<void> => {
    const found = opened(number);
    open.delete(number);
    await found.close();
  };
  return {
    answers: {
      openTransform: () =>
        told(async () => {
          if (transform === undefined) throw new Error('expected a run with a transform');
          const found = await transform.open();
          last += 1;
          open.set(last, found);
          return last;
        }),
      runTransform: (number: number, events: readonly HandedEvent[]) => told(() => opened(number).run(events)),
      closeTransform: (number: number) => told(() => close(number)),
    },
    close: async () => {
      await Promise.all([...open.keys()].map(close));
    },
  };
}
