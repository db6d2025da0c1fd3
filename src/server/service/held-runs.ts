/** Which runs the process of imports works on, as it says, and what is noted of them when it ends in the middle. */
import type { Answers } from '../../base/calls.ts';
import { noteDeath, type HeldRun } from '../../imports/run/claim-run.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Log } from '../telemetry/log.ts';

/** A part of a source that is being read for a run. */
export interface ReadPart {
  readonly run: string;
  readonly part: string;
}

export interface HeldRuns {
  /** What the process tells. */
  readonly answers: Answers;
  /** `how`: it ended. Never rejects: what cannot be noted is found when the leases are over. */
  readonly noteDeaths: (how: string) => Promise<void>;
}

const partsShown = 3;

export function followHeldRuns({ db, log }: { readonly db: Metadata; readonly log: Log }): HeldRuns {
  const held = new Map<string, HeldRun>();
  const parts = new Map<string, Set<string>>();
  return {
    answers: {
      holdRun: async (run: HeldRun) => void held.set(run.id, run),
      letRunGo: async ({ id }: HeldRun) => {
        held.delete(id);
        parts.delete(id);
      },
      readsPart: async ({ run, part }: ReadPart) => {
        parts.set(run, (parts.get(run) ?? new Set()).add(part));
      },
      hasReadPart: async ({ run, part }: ReadPart) => void parts.get(run)?.delete(part),
    },
    noteDeaths: async (how) => {
      const runs = [...held.values()];
      held.clear();
      for (const run of runs) {
        const read = [...(parts.get(run.id) ?? [])].slice(0, partsShown).join(', ');
        const note = read === '' ? how : `${how} while it read ${read}`;
        log.warn({ run: run.id, how, read }, 'import: the process that worked on a run ended; it is taken up again');
        try {
          await noteDeath(db, run, note);
        } catch (err) {
          log.warn({ err, run: run.id }, 'import: the end of the process could not be noted; its lease will be over');
        }
      }
      parts.clear();
    },
  };
}
