/**
 * Counts how often workers of a run died without making progress on it. Input may crash its reader; it must not do so endlessly.
 */
import { sql } from 'kysely';
import { findRebuild } from '../../stores/metadata/profile-rebuilds.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { RunFailedError } from './leased-run.ts';
import type { Run, Stage } from './run.ts';

/** JSON in the run's row. */
export interface RunDeaths {
  readonly stage: Stage;
  /** Progress of the run, as `readReached` counts it. */
  readonly reached: number;
  /** Deaths of the worker alone, which the run caused. */
  readonly ended: number;
  /** Deaths of the whole service: a kill, a machine that stopped. */
  readonly lost: number;
  /** What is known about the last death. */
  readonly note: string;
  /** Recorded by the process that saw the worker die, until the run is claimed again. */
  readonly noted?: string;
}

/** Deaths without progress. */
const endedMax = 2;
/** More than manual kills, deployments and an orchestrator cause together before a stage makes progress. */
const lostMax = 12;

export function parseDeaths(text: string | null): RunDeaths | undefined {
  return text === null ? undefined : (JSON.parse(text) as RunDeaths);
}

/** Counts a death of a run's worker. `known` is what the row has. */
export async function countDeath(
  db: Queries,
  { id, stage }: { readonly id: string; readonly stage: Stage },
  known: RunDeaths | undefined,
): Promise<RunDeaths> {
  const reached = await readReached(db, id);
  const before = known?.stage === stage && reached <= known.reached ? known : { ended: 0, lost: 0, reached };
  const noted = known?.noted;
  return {
    stage,
    reached: before.reached,
    ended: before.ended + (noted === undefined ? 0 : 1),
    lost: before.lost + (noted === undefined ? 1 : 0),
    note: noted ?? 'the service ended or lost the run, for an unknown reason',
  };
}

/** Returns a number that grows with everything that a stage completes. */
async function readReached(db: Queries, runId: string): Promise<number> {
  const parts = await db
    .selectFrom('import_parts')
    .select(({ fn }) => [
      fn.countAll<number>().as('parts'),
      fn.sum<number>('complete').as('complete'),
      fn.sum<number>('checked').as('checked'),
      sql<number>`sum(length(segments))`.as('segments'),
    ])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  const days = await db
    .selectFrom('import_days')
    .select(({ fn }) => [
      fn.countAll<number>().as('days'),
      fn.sum<number>('frames').as('frames'),
      fn.sum<number>('frames_loaded').as('loaded'),
      fn.sum<number>('accepted').as('accepted'),
      fn.sum<number>('verified').as('verified'),
    ])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  const { progress } = await db
    .selectFrom('import_runs')
    .select('progress')
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
  const { load, undo, replace } = JSON.parse(progress) as Run['progress'];
  const ofStages = [load?.slices, undo?.done, replace?.done];
  // After an undo the pipeline rebuilds persons and groups step by step.
  const rebuilt = Object.values((await findRebuild(db, runId))?.counts ?? {});
  return [...ofStages, ...rebuilt, ...Object.values(parts), ...Object.values(days)].reduce(
    (sum: number, each) => sum + Number(each ?? 0),
    0,
  );
}

/** Returns why a run is not worked on again; `undefined` if it is. */
export async function refusalOf(
  db: Queries,
  runId: string,
  deaths: RunDeaths | undefined,
): Promise<RunFailedError | undefined> {
  if (deaths === undefined || (deaths.ended < endedMax && deaths.lost < lostMax)) return undefined;
  const times = deaths.ended + deaths.lost;
  const parts = await openParts(db, runId, deaths.stage);
  const where = parts === '' ? '' : ` Pending: ${parts}.`;
  return new RunFailedError(
    `expected the stage ${deaths.stage} to make progress, got ${times} crashes of the process that worked on it at the same place: ` +
      `${deaths.note}.${where} Check what is read there, and exclude it or raise the limit`,
    { advice: 'resume' },
  );
}

const partsShown = 2;

/** Returns the keys of the next parts. */
async function openParts(db: Queries, runId: string, stage: Stage): Promise<string> {
  if (stage !== 'export') return '';
  const rows = await db
    .selectFrom('import_parts')
    .select(['key'])
    .where('run_id', '=', runId)
    .where('complete', '=', 0)
    .orderBy('seq')
    .limit(partsShown)
    .execute();
  return rows.map(({ key }) => key.slice(0, 200)).join(', ');
}
