import { backoffMs } from '../../base/retry.ts';
import type { Failpoint } from '../../base/failpoint.ts';
import type { EventStore, StoreReader } from '../../stores/events/eventstore.ts';
import { mentionedGroupTypes } from '../../stores/events/run-rows.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  dueRebuilds,
  findRebuild,
  rebuildKeys,
  rebuildKinds,
  removeRebuildKeys,
  saveRebuild,
  type Rebuild,
  type RebuildCounts,
  type RebuildKind,
} from '../../stores/metadata/profile-rebuilds.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { holdSlot, SlotLostError, type SlotHold } from '../../stores/metadata/slot-leases.ts';
import { loadGroupTypes, writeGroupChanges, type GroupChanges } from '../persons/group-rows.ts';
import { writePersonChanges } from '../persons/person-rows.ts';
import { removeGroups, removeGroupTypes, removePersons, personsWithIds } from '../persons/rebuild-rows.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { lockProjects, ProjectSpreadError } from '../window-projects.ts';
import { replayPersons, type ReplayDeps } from './replay-persons.ts';
import { eventPages } from './event-pages.ts';
import { StepSize } from './step-size.ts';
import { groupProfileEvents, mergePairs } from '../../stores/events/profile-reads.ts';
import { GroupStore } from '../persons/group-store.ts';
import { storedDraft } from './stored-draft.ts';
import { storedId } from '../../wire/batch/stored-id.ts';
import { isPlaceholderId } from '../../base/placeholder-ids.ts';

const idsMax = 100_000;
const pollMsDefault = 1000;
const retryFirstMs = 500;
const retryMaxMs = 60_000;

export interface RebuilderDeps {
  readonly db: Metadata;
  /** Holds the slot of the projects. */
  readonly hold: SlotHold;
  readonly store: EventStore;
  readonly log: Log;
  readonly failpoint: Failpoint;
  /** Poll interval when there was no work, ms. Default 1,000. */
  readonly pollMs?: number;
  /** Due rebuilds of all projects. Default: a query each time. */
  readonly dueRebuilds?: () => ReturnType<typeof dueRebuilds>;
  /** Whether the slot handles the project. Default: all projects. */
  readonly owns?: (projectId: number) => boolean;
}

/** Result of a piece. */
interface Piece {
  /** Writes it and returns what it counts. */
  readonly write: (tx: Queries) => Promise<Partial<RebuildCounts>>;
  /** Keys that it completes. */
  readonly keys: readonly string[];
}

/**
 * Rebuilds persons and groups after events were removed from the store. It works between two windows, when everything that the
 * pipeline computed is stored, one piece at a time: each in one transaction with the keys that it completes.
 */
export class ProfileRebuilder {
  readonly #deps: RebuilderDeps;
  #pollAt = 0;
  #failures = 0;
  /** Of the rebuild in progress. */
  #size: { readonly rebuildId: string; readonly step: StepSize } | undefined;

  constructor(deps: RebuilderDeps) {
    this.#deps = deps;
  }

  /** Returns a rebuild that is due, if any; polls at intervals. */
  async next(): Promise<Rebuild | undefined> {
    if (performance.now() < this.#pollAt) return undefined;
    const { db, owns = () => true, pollMs = pollMsDefault } = this.#deps;
    const due = await (this.#deps.dueRebuilds?.() ?? dueRebuilds(db));
    const own = due.find(({ projectId }) => owns(projectId));
    const rebuild = own && (await findRebuild(db, own.id));
    // A shared list may contain rebuilds that are done by now.
    if (rebuild?.state === 'due') return rebuild;
    this.#pollAt = performance.now() + pollMs;
    return undefined;
  }

  /**
   * Rebuilds one piece, after which cached persons and groups must be dropped. A failure is recorded with the rebuild and retried
   * later, while events continue.
   *
   * @throws SlotLostError
   */
  async step(rebuild: Rebuild): Promise<void> {
    const { log, store } = this.#deps;
    try {
      await store.waitForReplicas();
      const startedAt = performance.now();
      await this.#advance(rebuild);
      this.#sizeOf(rebuild).took(performance.now() - startedAt);
      this.#failures = 0;
    } catch (error) {
      if (error instanceof SlotLostError) throw error;
      log.error({ err: error, rebuild: rebuild.id }, 'profile rebuild failed, retrying');
      this.#pollAt = performance.now() + backoffMs(this.#failures, retryFirstMs, retryMaxMs);
      this.#failures += 1;
      await this.#save(rebuild, { error: error instanceof Error ? error.message : String(error) });
    }
  }

  #sizeOf({ id }: Rebuild): StepSize {
    if (this.#size?.rebuildId !== id) this.#size = { rebuildId: id, step: new StepSize() };
    return this.#size.step;
  }

  async #advance(rebuild: Rebuild): Promise<void> {
    const { db, failpoint } = this.#deps;
    for (const kind of rebuildKinds) {
      const keys = await rebuildKeys(db, rebuild.id, kind, this.#sizeOf(rebuild).keys);
      if (keys.length === 0) continue;
      if (await this.#isShared(rebuild.projectId)) await this.#rebuildLocked(rebuild, kind, keys);
      else {
        const piece = await this.#rebuild(this.#deps, rebuild, kind, keys);
        failpoint('rebuild_computed');
        await this.#write((tx) => commit(tx, rebuild, kind, piece));
      }
      failpoint('rebuild_committed');
      return;
    }
    await this.#save(rebuild, { state: 'done', error: '' });
  }

  /** Whether other slots also change persons and groups of the project. */
  async #isShared(projectId: number): Promise<boolean> {
    const query = this.#deps.db.selectFrom('projects').select('spread_max').where('id', '=', projectId);
    return ((await query.executeTakeFirst())?.spread_max ?? 1) > 1;
  }

  /** Rebuilds a piece with the project locked, so that no other slot writes its persons or groups in the meantime. */
  async #rebuildLocked(rebuild: Rebuild, kind: RebuildKind, keys: readonly string[]): Promise<void> {
    await this.#write(async (tx) => {
      await lockProjects(tx, [rebuild.projectId], true);
      const piece = await this.#rebuild({ ...this.#deps, db: tx }, rebuild, kind, keys);
      this.#deps.failpoint('rebuild_computed');
      await commit(tx, rebuild, kind, piece, true);
    });
  }

  async #save({ id }: Rebuild, change: Partial<Rebuild>): Promise<void> {
    await this.#write((tx) => saveRebuild(tx, id, change));
  }

  async #write(work: (tx: Queries) => Promise<void>): Promise<void> {
    const { db, hold } = this.#deps;
    await db.transaction().execute(async (tx) => {
      await holdSlot(tx, hold);
      await work(tx);
    });
  }

  #rebuild(
    { db, store }: Omit<ReplayDeps, 'arrivals'>,
    { projectId, arrivals }: Rebuild,
    kind: RebuildKind,
    keys: readonly string[],
  ): Promise<Piece> {
    const deps = { db, store, arrivals };
    switch (kind) {
      case 'person':
        return rebuildPersons(deps, projectId, keys);
      case 'group':
        return rebuildGroups(deps, projectId, keys);
      case 'group_type':
        return rebuildGroupTypes(deps, projectId, keys);
    }
  }
}

async function commit(tx: Queries, rebuild: Rebuild, kind: RebuildKind, piece: Piece, alone = false): Promise<void> {
  const project = (await lockProjects(tx, [rebuild.projectId], alone)).get(rebuild.projectId);
  // Nothing would remove the rows of a project that is being deleted.
  if (project === undefined) return;
  if (project.isShared && !alone)
    throw new ProjectSpreadError('the project was spread in the meantime; the piece is rebuilt again');
  const counts = sum(rebuild.counts, await piece.write(tx));
  await removeRebuildKeys(tx, rebuild.id, kind, piece.keys);
  await saveRebuild(tx, rebuild.id, { counts, error: '' });
}

function sum(counts: RebuildCounts, more: Partial<RebuildCounts>): RebuildCounts {
  const names = Object.keys(counts) as (keyof RebuildCounts)[];
  return Object.fromEntries(names.map((name) => [name, counts[name] + (more[name] ?? 0)])) as unknown as RebuildCounts;
}

async function rebuildPersons(deps: ReplayDeps, projectId: number, keys: readonly string[]): Promise<Piece> {
  const { ids, personUuids, notFollowed } = await findTies({ ...deps, idsMax }, projectId, keys);
  const changes = await replayPersons(deps, projectId, ids);
  return {
    keys: [...ids],
    write: async (tx) => {
      await removePersons(tx, projectId, personUuids);
      await writePersonChanges(tx, changes);
      return {
        persons_before: personUuids.length,
        persons_after: changes.persons.length,
        ties_not_followed: notFollowed,
      };
    },
  };
}

async function rebuildGroups(deps: ReplayDeps, projectId: number, keys: readonly string[]): Promise<Piece> {
  const names = keys.map(groupName);
  const changes = await replayGroups(deps, projectId, names);
  return {
    keys,
    write: async (tx) => {
      const indexOf = new Map((await loadGroupTypes(tx, [projectId])).map((row) => [row.name, row.type_index]));
      let before = 0;
      for (const [type, index] of indexOf) {
        const own = names.filter((name) => name.type === type).map(({ key }) => key);
        before += await removeGroups(tx, projectId, index, own);
      }
      await writeGroupChanges(tx, changes);
      return { groups_before: before, groups_after: changes.groups.length };
    },
  };
}

/** Removes types that no event contains any more, which makes room for others. */
async function rebuildGroupTypes({ store }: ReplayDeps, projectId: number, keys: readonly string[]): Promise<Piece> {
  const mentioned = await mentionedGroupTypes(store, projectId, keys);
  const gone = keys.filter((name) => !mentioned.has(name));
  return {
    keys,
    write: async (tx) => ({
      group_types_removed: gone.length === 0 ? 0 : await removeGroupTypes(tx, projectId, gone),
    }),
  };
}

function groupName(key: string): GroupName {
  // Written by `groupRebuildKey`.
  const [type = '', name = ''] = JSON.parse(key) as readonly string[];
  return { type, key: name };
}

interface GroupName {
  readonly type: string;
  readonly key: string;
}

/** Rebuilds groups from their stored events; a type that had no room before may have it now. */
async function replayGroups(
  { db, store, arrivals }: ReplayDeps,
  projectId: number,
  names: readonly GroupName[],
): Promise<GroupChanges> {
  const wanted = new Set(names.map(({ type, key }) => JSON.stringify([type, key])));
  const keys = [...new Set(names.map(({ key }) => key))];
  const groups = new GroupStore(db);
  groups.begin(1);
  groups.wantTypes(projectId);
  await groups.load();
  for await (const event of eventPages((page) => groupProfileEvents(store, projectId, keys, { ...page, arrivals }))) {
    const update = storedDraft(projectId, event)?.groups?.update;
    if (update === null || update === undefined) continue;
    if (!wanted.has(JSON.stringify([update.typeName, update.key]))) continue;
    const index = groups.typeIndex(projectId, update.typeName);
    if (index !== undefined) groups.update(projectId, index, update.key, update.set, event.micros);
  }
  return groups.takeChanges();
}

/** Ids that have to be rebuilt together, and their current persons. */
interface Ties {
  readonly ids: ReadonlySet<string>;
  readonly personUuids: readonly string[];
  /** Number of ids that stored events tie to these and that exceed the limit. */
  readonly notFollowed: number;
}

interface TiesDeps {
  readonly db: Queries;
  readonly store: StoreReader;
  /** Above this number of ids, only those of the same persons are followed. */
  readonly idsMax: number;
}

/**
 * Finds everything that a rebuild of these ids may change: all ids of their persons, and all that a stored event tried to merge with
 * them. A merge that was refused because a person was identified may succeed without the removed events.
 */
async function findTies({ db, store, idsMax }: TiesDeps, projectId: number, seeds: readonly string[]): Promise<Ties> {
  const ids = new Set(seeds);
  const personUuids = new Set<string>();
  let fresh: readonly string[] = seeds;
  while (fresh.length > 0) {
    const persons = await personsWithIds(db, projectId, fresh);
    for (const uuid of persons.uuids) personUuids.add(uuid);
    const joined = persons.distinctIds.filter((id) => !ids.has(id));
    for (const id of joined) ids.add(id);
    const tied = await tiedIds(store, projectId, [...fresh, ...joined], ids);
    if (ids.size + tied.length > idsMax) return { ids, personUuids: [...personUuids], notFollowed: tied.length };
    for (const id of tied) ids.add(id);
    fresh = tied;
  }
  return { ids, personUuids: [...personUuids], notFollowed: 0 };
}

/** Returns ids that events tie to some of these, except known ones. Ids that identify no person never merge anything. */
async function tiedIds(
  store: StoreReader,
  projectId: number,
  of: readonly string[],
  known: ReadonlySet<string>,
): Promise<string[]> {
  const tied = new Set<string>();
  for (const [distinctId, given] of await mergePairs(store, projectId, of)) {
    const other = storedId(given);
    if (isPlaceholderId(distinctId) || isPlaceholderId(other)) continue;
    for (const id of [distinctId, other]) if (!known.has(id)) tied.add(id);
  }
  return [...tied];
}
