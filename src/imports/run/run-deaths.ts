/**
 * How often a worker of a run ended without getting any further with it. What a run reads may be made to end its reader; it
 * must not do so without end.
 */
import { sql } from 'kysely';
import type { Queries } from '../../stores/metadata/queries.ts';
import { RunFailedError } from './leased-run.ts';
import type { Run, Stage } from './run.ts';

/** JSON in the run's row. */
export interface RunDeaths {
  readonly stage: Stage;
  /** How far the run had come, as `reachedBy` counts. */
  readonly reached: number;
  /** Ends of the worker alone, which is the run's doing. */
  readonly ended: number;
  /** Losses of the run with everything around it: a kill of the service, a machine that stopped. */
  readonly lost: number;
  /** What is known of the last end. */
  readonly note: string;
  /** Noted by who saw the worker end, until the run is taken again. */
  readonly noted?: string;
}

/** Without getting further. */
const endedMax = 2;
/** More than kills of processes by hand, deployments or an orchestrator bring together before a stage gets further. */
const lostMax = 12;

export function parseDeaths(text: string | null): RunDeaths | undefined {
  return text === null ? undefined : (JSON.parse(text) as RunDeaths);
}

/** Of a run whose worker is gone. `known`: as it stands in the row. */
export async function countDeath(
  db: Queries,
  { id, stage }: { readonly id: string; readonly stage: Stage },
  known: RunDeaths | undefined,
): Promise<RunDeaths> {
  const reached = await reachedBy(db, id);
  const before = known?.stage === stage && reached <= known.reached ? known : { ended: 0, lost: 0, reached };
  const noted = known?.noted;
  return {
    stage,
    reached: before.reached,
    ended: before.ended + (noted === undefined ? 0 : 1),
    lost: before.lost + (noted === undefined ? 1 : 0),
    note: noted ?? 'the service ended, or lost the run, and nothing is known of why',
  };
}

/** Grows with all that a stage has completed. */
async function reachedBy(db: Queries, runId: string): Promise<number> {
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
  const slices = (JSON.parse(progress) as Run['progress']).load?.slices ?? 0;
  return [slices, ...Object.values(parts), ...Object.values(days)].reduce(
    (sum: number, each) => sum + Number(each ?? 0),
    0,
  );
}

/** Why a run is not taken up again; undefined: it is. */
export async function refusalOf(
  db: Queries,
  runId: string,
  deaths: RunDeaths | undefined,
): Promise<RunFailedError | undefined> {
  if (deaths === undefined || (deaths.ended < endedMax && deaths.lost < lostMax)) return undefined;
  const times = deaths.ended + deaths.lost;
  const parts = await openParts(db, runId, deaths.stage);
  const where = parts === '' ? '' : ` Not done yet: ${parts}.`;
  return new RunFailedError(
    `expected the stage ${deaths.stage} to get further, got the end of the process that worked on it, ${times} times at the same place: ` +
      `${deaths.note}.${where} Look at what is read there, and leave it out or raise the limit`,
    { advice: 'resume' },
  );
}

const partsShown = 2;

/** Those that come next, by their keys. */
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
