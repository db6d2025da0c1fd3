import { SourceError } from '../source.ts';
import type { AdviceWords } from './advice-words.ts';
import { isUnexpected } from './judge-failure.ts';
import { RunFailedError } from './leased-run.ts';

/** Why a run has failed, and what to do about it where the error says so, for whoever reads these words. */
export function failureReason(error: unknown, words: Pick<AdviceWords, 'goOn' | 'startAnew'>): string {
  const message = error instanceof Error ? error.message : String(error);
  const advice = error instanceof RunFailedError || error instanceof SourceError ? error.advice : undefined;
  switch (advice) {
    case undefined:
      return isUnexpected(error) ? unexpectedReason(message, words) : message;
    case 'goOn':
      return `${message}; then ${words.goOn}`;
    case 'startAnew':
      return `${message}; ${words.startAnew}`;
    case 'goOnOrStartAnew':
      return `${message}; then ${words.goOn}, or ${words.startAnew}`;
  }
}

/** Trying again has not helped, and no setting will. */
function unexpectedReason(message: string, { goOn, startAnew }: Pick<AdviceWords, 'goOn' | 'startAnew'>): string {
  return (
    `an unexpected error: ${message}. This is a defect of this program: please report it with this message. If it names a record, ` +
    `remove that from the source and ${startAnew}; otherwise ${goOn}`
  );
}
