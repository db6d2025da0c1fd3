import type { Answers, Call } from '../../../../base/calls.ts';
import type { CodeOutcome, HandedEvent, OpenTransform, Transform, TransformAbout } from '../../../transform.ts';

/** Makes the transform of a run available in a check thread; the code runs on the side of the main thread. */
export function transformOver(call: Call, about: TransformAbout): Transform {
  return {
    ...about,
    open: async () => {
      const number = await call('openTransform');
      return {
        // Not needed by a check.
        refused: new Set(),
        run: async (events) => (await call('runTransform', number, events)) as readonly CodeOutcome[],
        close: async () => void (await call('closeTransform', number)),
      };
    },
  };
}

export interface AnsweredTransform {
  readonly answers: Answers;
  /** Closes transforms that an ended thread left open. */
  close(): Promise<void>;
}

/** The main thread's side. `onFailure` receives the original errors; the thread only gets names and messages. */
export function answerTransform(
  transform: Transform | undefined,
  onFailure: (error: Error) => void,
): AnsweredTransform {
  const open = new Map<number, OpenTransform>();
  let last = 0;
  const reported = async <Result>(work: () => Promise<Result>): Promise<Result> => {
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
        reported(async () => {
          if (transform === undefined) throw new Error('expected a run with a transform');
          const found = await transform.open();
          last += 1;
          open.set(last, found);
          return last;
        }),
      runTransform: (number: number, events: readonly HandedEvent[]) => reported(() => opened(number).run(events)),
      closeTransform: (number: number) => reported(() => close(number)),
    },
    close: async () => {
      await Promise.all([...open.keys()].map(close));
    },
  };
}
