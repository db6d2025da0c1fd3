import { storedId } from '../../wire/batch/stored-id.ts';
import type { StoreReader } from '../../stores/events/eventstore.ts';
import { mergePairs } from '../../stores/events/profile-reads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { isNobody } from '../../base/nobody-ids.ts';
import { personsWithIds } from '../persons/rebuild-rows.ts';

/** Ids that can only be understood together, and the persons that they are now. */
export interface Ties {
  readonly ids: ReadonlySet<string>;
  readonly personUuids: readonly string[];
  /** Ids that stored events tie to these, and that were left alone because they are too many. */
  readonly notFollowed: number;
}

export interface TiesDeps {
  readonly db: Queries;
  readonly store: StoreReader;
  /** From so many ids on, only those of the same persons are followed. */
  readonly idsMax: number;
}

/**
 * Everybody whom a rebuild of these ids may change: all ids of the persons that they belong to, and all that a stored event wanted
 * to join with them. What was refused once, because somebody was identified, may be right without the events that are gone.
 */
export async function findTies(
  { db, store, idsMax }: TiesDeps,
  projectId: number,
  seeds: readonly string[],
): Promise<Ties> {
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

/** Ids that events tie to some of these, without those that are known. Nothing is ever merged by an id that names nobody. */
async function tiedIds(
  store: StoreReader,
  projectId: number,
  of: readonly string[],
  known: ReadonlySet<string>,
): Promise<string[]> {
  const tied = new Set<string>();
  for (const [distinctId, given] of await mergePairs(store, projectId, of)) {
    const other = storedId(given);
    if (isNobody(distinctId) || isNobody(other)) continue;
    for (const id of [distinctId, other]) if (!known.has(id)) tied.add(id);
  }
  return [...tied];
}
