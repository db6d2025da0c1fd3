import { SourceError } from '../source.ts';
import type { AdviceWords } from './advice-words.ts';
import { RunFailedError } from './leased-run.ts';

/** Why a run has failed, and what to do about it where the error says so, for whoever reads these words. */
export function failureReason(error: unknown, words: Pick<AdviceWords, 'goOn' | 'startAnew'>): string {
  const message = error instanceof Error ? error.message : String(error);
  const advice = error instanceof RunFailedError || error instanceof SourceError ? error.advice : undefined;
  switch (advice) {
    case undefined:
      return message;
    case 'goOn':
      return `${message}; then ${words.goOn}`;
    case 'startAnew':
      return `${message}; ${words.startAnew}`;
    case 'goOnOrStartAnew':
      return `${message}; then ${words.goOn}, or ${words.startAnew}`;
  }
}
