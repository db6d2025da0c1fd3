import { createHash } from 'node:crypto';
import type { Failpoint } from '../../base/failpoint.ts';
import { TaskFailedError, type HeldTask, type TaskKind } from '../../queue/tasks/task.ts';
import { ExportPlaceError, type ExportPlace } from './export-place.ts';
import {
  manifestName,
  type ExportDestination,
  type ExportedPart,
  type ExportProgress,
  type ExportResult,
  type ExportSpec,
  type ExportTableName,
} from '../../wire/contract/exports.ts';
import { createPartNotes, exportTable, type ExportTable, type TableDeps, type TablePart } from './export-tables.ts';
import { manifestOf, sumOf } from './manifest.ts';
import { exportedEvents, takeSnapshot, type SnapshotDeps } from './take-snapshot.ts';
import { encodePart, fileEnding } from './write-part.ts';

export interface ExportDeps extends SnapshotDeps {
  /** Opens the place of one export. Only the destination `service` takes no secrets. */
  readonly openPlace: (of: PlaceOf) => Promise<ExportPlace>;
  readonly failpoint: Failpoint;
}

export interface PlaceOf {
  readonly id: string;
  readonly destination: ExportDestination;
  readonly secrets: Readonly<Record<string, string>>;
}

export const exportKindName = 'export';

/**
 * Exports tables part by part. A part is repeated as a whole after an interruption, and gives the same rows; the manifest is written
 * last.
 */
export function exportKind(deps: ExportDeps): TaskKind {
  return {
    name: exportKindName,
    run: (task) => runExport(deps, task as ExportTask),
    cleanUp: (task) => removeParts(deps, task as ExportTask),
  };
}

type ExportTask = HeldTask<ExportSpec, ExportProgress>;

async function runExport(deps: ExportDeps, task: ExportTask): Promise<ExportResult> {
  const { id, spec, secrets } = task;
  const progress = task.progress ?? (await begin(deps, task));
  let place: ExportPlace | undefined;
  try {
    place = await deps.openPlace({ id, destination: spec.destination, secrets });
    return await exportTo(deps, task, place, progress);
  } catch (error) {
    if (error instanceof ExportPlaceError) throw new TaskFailedError(error.message, { cause: error });
    throw error;
  } finally {
    place?.close();
  }
}

async function removeParts(
  { openPlace }: ExportDeps,
  { id, spec, secrets, progress }: Pick<ExportTask, 'id' | 'spec' | 'secrets' | 'progress'>,
): Promise<void> {
  const place = await openPlace({ id, destination: spec.destination, secrets });
  try {
    await place.remove((progress?.parts ?? []).map(({ name }) => name));
  } finally {
    place.close();
  }
}

async function begin(deps: ExportDeps, task: ExportTask): Promise<ExportProgress> {
  const { projectId, spec, signal } = task;
  await task.waiting('Waiting until events received before the start are stored.');
  const snapshot = await takeSnapshot(deps, { projectId, selection: spec.selection, signal });
  const progress = { ...snapshot, parts: [], names: {}, done: [] };
  await task.save(progress);
  return progress;
}

async function exportTo(
  { db, store, failpoint }: ExportDeps,
  task: ExportTask,
  place: ExportPlace,
  begun: ExportProgress,
): Promise<ExportResult> {
  const { id, projectId, spec, signal } = task;
  const events = exportedEvents({ projectId, selection: spec.selection, snapshot: begun });
  const deps: TableDeps = { store, db, events, shape: spec.shape, rowsPerPart: spec.rows_per_part };
  const save = async (next: ExportProgress): Promise<ExportProgress> => {
    await task.save(next);
    failpoint('export_part_saved');
    return next;
  };
  let progress = begun;
  for (const name of spec.tables.filter((each) => !begun.done.includes(each))) {
    const parts = { name, table: exportTable(name, deps), spec, place, signal, failpoint, save };
    progress = await exportParts(parts, progress);
  }
  const manifest = Buffer.from(`${JSON.stringify(manifestOf({ id, projectId, spec, progress, deps }), null, 2)}\n`);
  await place.write(manifestName, onePiece(manifest), signal);
  return {
    rows: Object.fromEntries(spec.tables.map((name) => [name, sumOf(partsOf(progress, name)).rows])),
    parts: progress.parts.length,
    bytes: sumOf(progress.parts).bytes,
    sha256: createHash('sha256').update(manifest).digest('hex'),
  };
}

interface PartsOf {
  readonly name: ExportTableName;
  readonly table: ExportTable;
  readonly spec: ExportSpec;
  readonly place: ExportPlace;
  readonly signal: AbortSignal;
  readonly failpoint: Failpoint;
  readonly save: (next: ExportProgress) => Promise<ExportProgress>;
}

/** Exports what is left of a table. */
async function exportParts(of: PartsOf, begun: ExportProgress): Promise<ExportProgress> {
  let progress = begun;
  for (;;) {
    of.signal.throwIfAborted();
    const part = await of.table.next(progress.after);
    if (part === undefined) break;
    const { parts, names } = await writePart(of, part, progress);
    of.failpoint('export_part_written');
    const { received_before, unfinished_runs, distinct_ids, events, done } = progress;
    const snapshot = { received_before, unfinished_runs, ...(distinct_ids && { distinct_ids }), events };
    progress = await of.save({ ...snapshot, done, parts, names, after: part.upTo });
  }
  const { after: _, ...rest } = progress;
  return of.save({ ...rest, done: [...rest.done, of.name] });
}

/** A part whose rows were deleted in the meantime leaves no file. */
async function writePart(
  { name, table, spec, place, signal, failpoint }: PartsOf,
  part: TablePart,
  progress: ExportProgress,
): Promise<Pick<ExportProgress, 'parts' | 'names'>> {
  const number = partsOf(progress, name).length + 1;
  const file = `${name}-${String(number).padStart(5, '0')}${fileEnding(spec)}`;
  const notes = createPartNotes();
  async function* encoded(): AsyncGenerator<Uint8Array> {
    for await (const chunk of encodePart(spec, table.columns, notes.noting(part.pages()))) {
      signal.throwIfAborted();
      failpoint('export_part_chunk');
      if (chunk.length > 0) yield chunk;
    }
  }
  const { bytes, sha256 } = await place.write(file, encoded(), signal);
  const found = notes.found();
  if (found.rows === 0) {
    await place.remove([file]);
    return { parts: progress.parts, names: progress.names };
  }
  const written: ExportedPart = { name: file, table: name, bytes, sha256, ...found };
  return { parts: [...progress.parts, written], names: addNames(progress.names, notes.names) };
}

function partsOf({ parts }: ExportProgress, name: ExportTableName): ExportedPart[] {
  return parts.filter(({ table }) => table === name);
}

/** Names beyond this number are counted together as `*`. */
const namesMax = 10_000;

function addNames(known: Readonly<Record<string, number>>, found: ReadonlyMap<string, number>): Record<string, number> {
  const counts = new Map(Object.entries(known));
  for (const [name, count] of found) {
    const counted = counts.has(name) || counts.size < namesMax ? name : '*';
    counts.set(counted, (counts.get(counted) ?? 0) + count);
  }
  // Also for a name such as `__proto__`.
  return Object.fromEntries(counts);
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
