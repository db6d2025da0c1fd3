import { backoffMs } from '../../base/retry.ts';
import type { Failpoint } from '../../base/failpoint.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
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
import { holdSlot, SlotLostError, type SlotHold } from '../../stores/metadata/slots.ts';
import { loadGroupTypes, writeGroupChanges } from '../persons/group-rows.ts';
import { writePersonChanges } from '../persons/person-rows.ts';
import { removeGroups, removeGroupTypes, removePersons } from '../persons/rebuild-rows.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { lockProjects, ProjectSpreadError } from '../window-projects.ts';
import { findTies } from './find-ties.ts';
import { replayGroups, type GroupName } from './replay-groups.ts';
import { replayPersons, type ReplayDeps } from './replay-persons.ts';

/** Ids, or groups, of one step: what live events have to wait for. */
const keysPerStep = 500;
const idsMax = 100_000;
const lookEveryMs = 1000;
const retryFirstMs = 500;
const retryMaxMs = 60_000;

export interface RebuilderDeps {
  readonly db: Metadata;
  /** Of the slot whose projects these are. */
  readonly hold: SlotHold;
  readonly store: EventStore;
  readonly log: Log;
  readonly failpoint: Failpoint;
  /** How often to look for work when there was none, ms. Default 1,000. */
  readonly lookMs?: number;
  /** What is due, in all projects. Default: the store is asked each time. */
  readonly dueRebuilds?: () => ReturnType<typeof dueRebuilds>;
  /** Projects whose events come by here. Default: all. */
  readonly owns?: (projectId: number) => boolean;
}

/** What a step writes, and what it counts. */
interface Made {
  readonly write: (tx: Queries) => Promise<Partial<RebuildCounts>>;
  /** Done with it. */
  readonly keys: readonly string[];
}

/**
 * Makes persons and groups anew where events were taken out of the store. It works between two windows, when everything that the
 * pipeline computed is stored, a piece at a time: each in one transaction with the keys that are done by it.
 */
export class ProfileRebuilder {
  readonly #deps: RebuilderDeps;
  #lookAt = 0;
  #failures = 0;

  constructor(deps: RebuilderDeps) {
    this.#deps = deps;
  }

  /** What is to be done now; undefined: nothing. Looks once in a while. */
  async next(): Promise<Rebuild | undefined> {
    if (performance.now() < this.#lookAt) return undefined;
    const { db, owns = () => true, lookMs = lookEveryMs } = this.#deps;
    const due = await (this.#deps.dueRebuilds?.() ?? dueRebuilds(db));
    const own = due.find(({ projectId }) => owns(projectId));
    const rebuild = own && (await findRebuild(db, own.id));
    // What others know of may be done by now.
    if (rebuild?.state === 'due') return rebuild;
    this.#lookAt = performance.now() + lookMs;
    return undefined;
  }

  /**
   * One piece; afterwards persons and groups in memory are to be forgotten. What goes wrong is noted with the rebuild and tried
   * again later; events go on meanwhile. Errors: SlotLostError.
   */
  async step(rebuild: Rebuild): Promise<void> {
    const { log } = this.#deps;
    try {
      await this.#advance(rebuild);
      this.#failures = 0;
    } catch (error) {
      if (error instanceof SlotLostError) throw error;
      log.error({ err: error, rebuild: rebuild.id }, 'persons could not be made anew; trying again');
      this.#lookAt = performance.now() + backoffMs(this.#failures, retryFirstMs, retryMaxMs);
      this.#failures += 1;
      await this.#save(rebuild, { error: error instanceof Error ? error.message : String(error) });
    }
  }

  async #advance(rebuild: Rebuild): Promise<void> {
    const { db, failpoint } = this.#deps;
    for (const kind of rebuildKinds) {
      const keys = await rebuildKeys(db, rebuild.id, kind, keysPerStep);
      if (keys.length === 0) continue;
      if (await this.#isShared(rebuild.projectId)) await this.#makeAlone(rebuild, kind, keys);
      else {
        const made = await this.#make(this.#deps, rebuild, kind, keys);
        failpoint('rebuild_computed');
        await this.#write((tx) => commit(tx, rebuild, kind, made));
      }
      failpoint('rebuild_committed');
      return;
    }
    await this.#save(rebuild, { state: 'done', error: '' });
  }

  /** Whether other slots change persons and groups of the project, too. */
  async #isShared(projectId: number): Promise<boolean> {
    const query = this.#deps.db.selectFrom('projects').select('spread_max').where('id', '=', projectId);
    return ((await query.executeTakeFirst())?.spread_max ?? 1) > 1;
  }

  /** While it reads the events and writes what they make, no other slot writes persons or groups of the project. */
  async #makeAlone(rebuild: Rebuild, kind: RebuildKind, keys: readonly string[]): Promise<void> {
    await this.#write(async (tx) => {
      await lockProjects(tx, [rebuild.projectId], true);
      const made = await this.#make({ ...this.#deps, db: tx }, rebuild, kind, keys);
      this.#deps.failpoint('rebuild_computed');
      await commit(tx, rebuild, kind, made, true);
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

  #make(
    { db, store }: Omit<ReplayDeps, 'arrivals'>,
    { projectId, arrivals }: Rebuild,
    kind: RebuildKind,
    keys: readonly string[],
  ): Promise<Made> {
    const deps = { db, store, arrivals };
    switch (kind) {
      case 'person':
        return makePersons(deps, projectId, keys);
      case 'group':
        return makeGroups(deps, projectId, keys);
      case 'group_type':
        return makeGroupTypes(deps, projectId, keys);
    }
  }
}

async function commit(tx: Queries, rebuild: Rebuild, kind: RebuildKind, made: Made, alone = false): Promise<void> {
  const project = (await lockProjects(tx, [rebuild.projectId], alone)).get(rebuild.projectId);
  // A project that is being deleted has nobody left who would remove its rows.
  if (project === undefined) return;
  if (project.isShared && !alone)
    throw new ProjectSpreadError('the project was spread meanwhile; the piece is made again');
  const counts = sum(rebuild.counts, await made.write(tx));
  await removeRebuildKeys(tx, rebuild.id, kind, made.keys);
  await saveRebuild(tx, rebuild.id, { counts, error: '' });
}

function sum(counts: RebuildCounts, more: Partial<RebuildCounts>): RebuildCounts {
  const names = Object.keys(counts) as (keyof RebuildCounts)[];
  return Object.fromEntries(names.map((name) => [name, counts[name] + (more[name] ?? 0)])) as unknown as RebuildCounts;
}

async function makePersons(deps: ReplayDeps, projectId: number, keys: readonly string[]): Promise<Made> {
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

async function makeGroups(deps: ReplayDeps, projectId: number, keys: readonly string[]): Promise<Made> {
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

/** Types that no event mentions any more make room for others. */
async function makeGroupTypes({ store }: ReplayDeps, projectId: number, keys: readonly string[]): Promise<Made> {
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
  // What `groupRebuildKey` wrote.
  const [type = '', name = ''] = JSON.parse(key) as readonly string[];
  return { type, key: name };
}
