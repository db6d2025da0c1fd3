import { RunFailedError } from '../../run/leased-run.ts';
import { describeChange, type SourceChange } from './source-changes.ts';

/** How often the export has begun to read, and why again; gives up on a source that does not settle. */
export interface Rounds {
  isFirst(): boolean;
  /** @throws RunFailedError when one part has changed too often, or the source does not settle */
  begin(changes: readonly SourceChange[]): void;
  /** A part was found changed while it was read. */
  changed(key: string, reason: string): void;
  /** Why this round is needed; undefined: it is the first. */
  reason(): string | undefined;
}

/** A part is read anew so often. */
const againMax = 3;
/** A source that is added to all the time is never read to its end. */
const roundsMax = 20;

export function createRounds(): Rounds {
  const again = new Map<string, number>();
  let rounds = 0;
  let reasons: string[] = [];
  let reason: string | undefined;
  const changed = (key: string, why: string): void => {
    again.set(key, (again.get(key) ?? 0) + 1);
    reasons.push(why);
  };
  return {
    isFirst: () => rounds === 0,
    changed,
    begin(changes) {
      if (rounds > 0) {
        for (const change of changes) {
          if (change.kind === 'changed') changed(change.listed.key, describeChange(change));
          else if (change.kind === 'added') reasons.push(describeChange(change));
        }
        const [first] = reasons;
        if (Math.max(0, ...again.values()) > againMax || rounds >= roundsMax) throw givenUp(first ?? 'it changed');
        const more = reasons.length > 1 ? ` and ${reasons.length - 1} more` : '';
        reason = `${first ?? 'something'}${more} while the source was read; reading that again`;
      }
      rounds += 1;
      reasons = [];
    },
    reason: () => reason,
  };
}

function givenUp(what: string): RunFailedError {
  return new RunFailedError(
    `expected the source to stay as it is while it is read, but ${what}, again and again: wait until nothing writes there, or ` +
      'import a copy of it, or only what is finished',
    { advice: 'goOn' },
  );
}
