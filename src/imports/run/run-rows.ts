import type { Insertable, Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { Database } from '../../stores/metadata/database.ts';
import type { LeasedRun, StoredPart } from './leased-run.ts';
import type { DayState, StoredDay } from './import-day.ts';
import type { Run, RunState, Stage } from './run.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** Columns of a run that users see; neither secrets nor lease. */
export const runColumns = [
  'id',
  'project_id',
  'config_id',
  'source',
  'state',
  'stage',
  'reason',
  'waiting',
  'options',
  'progress',
  'totals',
  'promoted_from',
  'retries',
  'staging_removed_at',
  'created_at',
  'started_at',
  'finished_at',
] as const;
type RunRow = Pick<Selectable<Database['import_runs']>, (typeof runColumns)[number]>;

export function toRun(row: RunRow): Run {
  return {
    id: row.id,
    projectId: row.project_id,
    configId: row.config_id,
    source: row.source,
    state: row.state as RunState,
    stage: row.stage as Stage,
    reason: row.reason,
    waiting: row.waiting === null ? null : (JSON.parse(row.waiting) as Run['waiting']),
    options: JSON.parse(row.options) as Run['options'],
    progress: JSON.parse(row.progress) as Run['progress'],
    totals: JSON.parse(row.totals) as Run['totals'],
    promotedFrom: row.promoted_from,
    retries: row.retries,
    stagingRemovedAt: msOf(row.staging_removed_at),
    createdAt: Date.parse(row.created_at),
    startedAt: msOf(row.started_at),
    finishedAt: msOf(row.finished_at),
  };
}

function msOf(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}

export function timeOf(ms: number | null): string | null {
  return ms === null ? null : isoMicros(ms);
}

export function toPart(row: Selectable<Database['import_parts']>): StoredPart {
  return {
    seq: row.seq,
    key: row.key,
    stable: row.stable === 1,
    identity: row.identity ?? undefined,
    checksum: row.checksum ?? undefined,
    ...(row.bytes === null ? {} : { bytes: Number(row.bytes) }),
    ...(row.detail === null ? {} : { detail: JSON.parse(row.detail) as NonNullable<StoredPart['detail']> }),
    segments: JSON.parse(row.segments) as StoredPart['segments'],
    complete: row.complete === 1,
    faults: Number(row.faults),
    checked: row.checked,
    checkState: row.check_state,
    error: row.error,
  };
}

/** Converts only the keys of `change`; `undefined` clears a column. */
export function partColumns(
  change: Parameters<LeasedRun['savePart']>[1],
): Partial<Insertable<Database['import_parts']>> {
  return {
    ...('identity' in change && { identity: change.identity ?? null }),
    ...('checksum' in change && { checksum: change.checksum ?? null }),
    ...('bytes' in change && { bytes: change.bytes ?? null }),
    ...(change.segments !== undefined && { segments: JSON.stringify(change.segments) }),
    ...(change.complete !== undefined && { complete: change.complete ? 1 : 0 }),
    ...(change.faults !== undefined && { faults: change.faults }),
    ...(change.checked !== undefined && { checked: change.checked }),
    ...(change.checkState !== undefined && { check_state: change.checkState }),
    ...(change.error !== undefined && { error: change.error }),
  };
}

function toDay(row: Selectable<Database['import_days']>): StoredDay {
  return {
    day: row.day,
    events: Number(row.events),
    bytes: Number(row.bytes),
    duplicates: Number(row.duplicates),
    frames: row.frames,
    framesLoaded: row.frames_loaded,
    accepted: Number(row.accepted),
    rejected: Number(row.rejected),
    verified: row.verified === 1,
    expected: row.expected,
  };
}

export const newDayColumns = {
  events: 0,
  bytes: 0,
  duplicates: 0,
  frames: 0,
  frames_loaded: 0,
  accepted: 0,
  rejected: 0,
  verified: 0,
  expected: '{}',
} as const;

export function dayColumns(change: Partial<DayState>): Partial<Insertable<Database['import_days']>> {
  const { framesLoaded, verified, ...same } = change;
  return {
    ...same,
    ...(framesLoaded !== undefined && { frames_loaded: framesLoaded }),
    ...(verified !== undefined && { verified: verified ? 1 : 0 }),
  };
}

/** Reads parts and days of a run; this needs no lease. */
export function readRunRows(db: Queries, runId: string): Pick<LeasedRun, 'parts' | 'days'> {
  return {
    async parts() {
      const rows = await db.selectFrom('import_parts').selectAll().where('run_id', '=', runId).orderBy('seq').execute();
      return rows.map(toPart);
    },
    async days() {
      const rows = await db.selectFrom('import_days').selectAll().where('run_id', '=', runId).orderBy('day').execute();
      return rows.map(toDay);
    },
  };
}
