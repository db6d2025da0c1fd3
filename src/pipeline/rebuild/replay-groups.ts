import { groupProfileEvents, type Arrival } from '../../stores/events/profile-reads.ts';
import type { GroupChanges } from '../persons/group-rows.ts';
import { GroupStore } from '../persons/group-store.ts';
import type { ReplayDeps } from './replay-persons.ts';
import { storedDraft } from './stored-draft.ts';

const eventsPerPage = 2000;

export interface GroupName {
  readonly type: string;
  readonly key: string;
}

/** The groups that the stored events make of these; a type that had no room before may find it now. */
export async function replayGroups(
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
  for (let after: Arrival | undefined; ;) {
    const page = await groupProfileEvents(store, projectId, keys, { after, limit: eventsPerPage, arrivals });
    for (const event of page) {
      const update = storedDraft(projectId, event)?.groups?.update;
      if (update === null || update === undefined) continue;
      if (!wanted.has(JSON.stringify([update.typeName, update.key]))) continue;
      const index = groups.typeIndex(projectId, update.typeName);
      if (index !== undefined) groups.update(projectId, index, update.key, update.set, event.micros);
    }
    if (page.length < eventsPerPage) return groups.takeChanges();
    after = page.at(-1);
  }
}
