/** Tracks the runs held by the import process, and records when it ends while holding them. */
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
  /** Reports from the process. */
  readonly answers: Answers;
  /** Records that the process ended, with the reason. Never rejects: if recording fails, the leases expire. */
  readonly noteDeaths: (how: string) => Promise<void>;
}

const partsShown = 3;

export function followHeldRuns({ db, log }: { readonly db: Metadata; readonly log: Log }): HeldRuns {
  const held = new Map<string, HeldRun>();
  const parts = new Map<string, Set<string>>();
  return {
    answers: {
      holdRun: async (run: HeldRun) => void held.set(run.id, run),
      releaseRun: async ({ id }: HeldRun) => {
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
        log.warn({ run: run.id, how, read }, 'import: worker process ended; run will be resumed');
        try {
          await noteDeath(db, run, note);
        } catch (err) {
          log.warn(
            { err, run: run.id },
            'import: failed to record the end of the worker process; its lease will expire',
          );
        }
      }
      parts.clear();
    },
  };
}
