import { constants, zstdCompressSync } from 'node:zlib';
import type { EventStore, RunRef } from '../../stores/events/eventstore.ts';
import { hasLaterRows, hasSentRows } from '../../stores/events/run-table-reads.ts';
import type { RunStore } from '../../stores/events/run-tables.ts';
import {
  identityKey,
  importedCounts,
  importedEvents,
  importedEventsNamed,
  importedProperties,
  placesWithoutRuns,
  storedOnDay,
  type IdentityKey,
  type ImportedIdentity,
  type NamedIdentityKey,
} from '../../stores/events/import-reads.ts';
import { contentText, type ContentKind } from '../checksum.ts';
import { storedId } from '../../wire/batch/stored-id.ts';
import {
  TargetError,
  TargetWaitError,
  type LoadBatch,
  type StoredCount,
  type StoredPlace,
  type Target,
  type TargetReader,
} from '../target.ts';
import { splitLines } from './lines.ts';
import type { IngestResult, ProjectIngest } from './project-ingest.ts';
import { readStore, readStorePages } from './read-store.ts';

export interface ProjectTargetOptions {
  readonly projectId: number;
  readonly runId: string;
  readonly ingest: ProjectIngest;
  readonly store: RunStore;
  /** Returns whether plugins of the project change or receive events before they are stored. */
  readonly isWatched: () => Promise<boolean>;
  /** Returns whether an undo of another run waits until this run has loaded again. */
  readonly isAwaitedByUndo: () => Promise<boolean>;
  /** The turns of this process. */
  readonly turns: AttachTurns;
  /** Resolves when everything that is in the historical lane now is in the event store. */
  readonly drained: (signal: AbortSignal) => Promise<void>;
}

const identitiesPerPage = 10_000;

/** Opens the service's own project: through its ingest into the historical lane, as fast as the agreement allows. */
export function openProjectTarget(options: ProjectTargetOptions): Target {
  const { projectId, ingest, isWatched, turns, drained, store } = options;
  return {
    description: `project ${projectId}`,
    deliver: async (batch, signal) => {
      signal.throwIfAborted();
      expectAccepted(await ingest.accept(packedOf(batch), batch.events));
      return { accepted: batch.events, rejected: [] };
    },
    stored: async (batch, signal) => {
      await drained(signal);
      return storedUuids(store, projectId, batch);
    },
    settled: async (signal) => {
      await drained(signal);
      await readStore(() => store.waitForReplicas({ projectId, runId: options.runId }));
    },
    reader: storeReader(options),
    tables: {
      isOpen: async (signal) => {
        signal.throwIfAborted();
        return !(await isWatched());
      },
      admit: async (events, signal) => {
        signal.throwIfAborted();
        expectAccepted(await ingest.admit(events));
      },
      attach: async (month, signal) => {
        signal.throwIfAborted();
        return await turns(projectId, () => readStore(() => attachUnlessLater(options, month)));
      },
      deliverFacts: async (of, facts, signal) => {
        signal.throwIfAborted();
        expectAccepted(await ingest.acceptFacts(of, packedOf(facts), facts.events));
      },
    },
  };
}

async function attachUnlessLater(options: ProjectTargetOptions, month: number): Promise<boolean> {
  const { projectId, runId, store } = options;
  const run: RunRef = { projectId, runId };
  if ((await hasLaterRows(store, run, month)) && !(await attachesBeforeLater(options, run, month))) return false;
  await store.runTables.attach(run, month);
  return true;
}

/**
 * A month that was attached gets its old place after an undo. Sent again, it would count as received last: of a link that three runs have,
 * the store may have merged away the row of this run into the deleted one, but not that of a later run, which would remain.
 */
async function attachesBeforeLater(
  { store, isAwaitedByUndo }: ProjectTargetOptions,
  run: RunRef,
  month: number,
): Promise<boolean> {
  return (await isAwaitedByUndo()) && !(await hasSentRows(store, run, month));
}

function expectAccepted(answer: IngestResult): void {
  if (answer.kind === 'refused') throw new TargetError(answer.reason);
  if (answer.kind === 'wait') throw new TargetWaitError(answer.reason, { retryAfterMs: answer.retryAfterMs });
}

/** Compresses into separate memory, which is transferred to the thread of the ingest. */
function packedOf({ lines }: Pick<LoadBatch, 'lines'>): Uint8Array {
  const bytes = zstdCompressSync(lines, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Returns uuids of which every event in the batch is stored. */
async function storedUuids(store: EventStore, projectId: number, batch: LoadBatch): Promise<ReadonlySet<string>> {
  const identities = splitLines(batch.lines).map(identityOf);
  const stored = await readStore(() => storedOnDay(store, projectId, batch.day, identities));
  const missing = new Set(identities.filter((identity) => !stored.has(identityKey(identity))).map(({ uuid }) => uuid));
  return new Set(identities.map(({ uuid }) => uuid).filter((uuid) => !missing.has(uuid)));
}

function identityOf(line: string): { uuid: string; event: string; distinctId: string } {
  // The check wrote these three texts into every event.
  const { uuid, event, distinct_id: distinctId } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  return { uuid: String(uuid).toLowerCase(), event: String(event), distinctId: storedId(String(distinctId)) };
}

function storeReader({ projectId, runId, store }: ProjectTargetOptions): TargetReader {
  return {
    dayCounts: async (day, signal, contents) =>
      (await daysCounts({ from: day, to: day }, signal, contents)).get(day) ?? new Map<string, StoredCount>(),
    daysCounts,
    dayEvents: async function* (day, events, signal, contents) {
      const read = (after: NamedIdentityKey | undefined) =>
        importedEventsNamed(store, projectId, { day, events, after }, { limit: identitiesPerPage, contents });
      for await (const page of readStorePages(read, signal)) {
        yield page.map(({ event, uuid, distinctId, timestampMicros: timestamp, runId: by, content }) => {
          return { event, uuid, distinctId, timestamp, runId: by, content: contentText(contents, content) };
        });
      }
    },
    dayProperties: async (day, event, uuids, signal) => {
      signal.throwIfAborted();
      const rows = await readStore(() => importedProperties(store, projectId, { day, event, uuids }));
      return new Map(rows.map(({ uuid, distinctId, properties }) => [`${uuid} ${distinctId}`, properties]));
    },
    sharesStore: true,
    eventsNamed: (event, signal, without = []) =>
      without.length === 0 ? pages({ event }, signal) : placesWithout(event, without, signal),
  };

  async function daysCounts(
    days: { readonly from: string; readonly to: string },
    signal: AbortSignal,
    contents: ContentKind,
  ): Promise<Map<string, Map<string, StoredCount>>> {
    signal.throwIfAborted();
    const rows = await readStore(() => importedCounts(store, projectId, { run: runId, ...days }, contents));
    const byDay = new Map<string, Map<string, StoredCount>>();
    for (const { day, event, count, checksum, content } of rows) {
      const counts = byDay.get(day) ?? new Map<string, StoredCount>();
      byDay.set(day, counts.set(event, { count, checksum, content: contentText(contents, content) }));
    }
    return byDay;
  }

  function placesWithout(
    event: string,
    runs: readonly string[],
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredPlace[]> {
    const read = (after: IdentityKey | undefined) =>
      placesWithoutRuns(store, projectId, { event, runs, after }, identitiesPerPage);
    return readStorePages(read, signal);
  }

  function pages(where: { readonly event: string }, signal: AbortSignal): AsyncIterable<readonly ImportedIdentity[]> {
    const read = (after: IdentityKey | undefined) =>
      importedEvents(store, projectId, { ...where, after }, { limit: identitiesPerPage, contents: 'crc32' });
    return readStorePages(read, signal);
  }
}

/** Lets runs attach to a project one after the other, so that each sees what the previous one stored. */
export type AttachTurns = <Result>(projectId: number, work: () => Promise<Result>) => Promise<Result>;

/** Creates the turns for all runs of a process. */
export function createAttachTurns(): AttachTurns {
  /** The last requested work per project. */
  const last = new Map<number, Promise<unknown>>();
  return async (projectId, work) => {
    const before = last.get(projectId) ?? Promise.resolve();
    const result = before.then(work, work);
    last.set(projectId, result);
    try {
      return await result;
    } finally {
      if (last.get(projectId) === result) last.delete(projectId);
    }
  };
}

/** A project with more names has other problems. */
const namesMax = 100_000;

/** Returns the event names that a project has stored. */
export async function knownEventNames(store: EventStore, projectId: number): Promise<ReadonlySet<string>> {
  const rows = await store.query<{ event: string }>(
    `SELECT DISTINCT event FROM events WHERE project_id = {project:Int32} LIMIT ${namesMax}`,
    { project: projectId },
  );
  return new Set(rows.map(({ event }) => event));
}
