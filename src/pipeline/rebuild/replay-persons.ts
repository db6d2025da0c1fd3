import type { StoreReader } from '../../stores/events/eventstore.ts';
import { firstSeen, profileEvents, type Arrival, type RunArrivals } from '../../stores/events/profile-reads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { PersonChanges } from '../persons/person-rows.ts';
import { PersonStore } from '../persons/person-store.ts';
import type { EventDraft } from '../event-draft.ts';
import { updatePerson } from '../steps/update-persons.ts';
import { eventPages } from './event-pages.ts';
import { storedDraft } from './stored-draft.ts';

export interface ReplayDeps {
  readonly db: Queries;
  readonly store: StoreReader;
  readonly arrivals: RunArrivals;
}

/**
 * Computes the persons of these ids from their stored events in the order of arrival, as the pipeline did. Of events that do not
 * change a person only the first and the earliest count. `ids` is closed, see findTies: merges with other ids are ignored.
 */
export async function replayPersons(
  { db, store, arrivals }: ReplayDeps,
  projectId: number,
  ids: ReadonlySet<string>,
): Promise<PersonChanges> {
  // Never loads: for this store no person exists yet.
  const persons = new PersonStore(db);
  persons.begin(1);
  const seen = (await firstSeen(store, projectId, [...ids], arrivals)).toSorted((a, b) =>
    compare(a.arrival, b.arrival),
  );
  let next = 0;
  const touchEarlier = (arrival: Arrival | undefined): void => {
    for (; next < seen.length; next += 1) {
      const first = seen[next];
      if (first === undefined || (arrival !== undefined && compare(first.arrival, arrival) > 0)) return;
      // This event is processed next, and may merge the id with another before a person is created for it.
      const isSame = arrival !== undefined && compare(first.arrival, arrival) === 0;
      if (!isSame) persons.touch(projectId, first.distinctId, first.arrival.micros);
    }
  };
  const closed = [...ids];
  for await (const event of eventPages((page) => profileEvents(store, projectId, closed, { ...page, arrivals }))) {
    touchEarlier(event);
    const draft = storedDraft(projectId, event);
    if (draft === undefined) continue;
    updatePerson(persons, isClosed(draft, ids) ? draft : withoutMerge(draft));
  }
  touchEarlier(undefined);
  for (const { distinctId, createdAt } of seen) persons.touch(projectId, distinctId, createdAt);
  return persons.takeChanges();
}

function isClosed({ person }: EventDraft, ids: ReadonlySet<string>): boolean {
  const other = person?.merge?.otherId;
  return other === undefined || ids.has(other);
}

/** Removes the merge and keeps the other changes. */
function withoutMerge(draft: EventDraft): EventDraft {
  return { ...draft, person: draft.person && { ...draft.person, merge: null } };
}

/** Compares arrivals as the store orders them. */
function compare(a: Arrival, b: Arrival): number {
  const byTime = a.receivedAt - b.receivedAt || a.micros - b.micros || a.rank - b.rank;
  return byTime || compareText(a.uuid, b.uuid) || compareText(a.distinctId, b.distinctId);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
