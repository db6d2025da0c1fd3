import type { GroupStore } from '../../persons/groups.ts';
import { mergeIds } from '../../persons/merge.ts';
import type { PersonStore } from '../../persons/store.ts';
import type { EventDraft } from '../draft.ts';

/** Announces what `applyEvent` will look up. */
export function wantRecords(persons: PersonStore, groups: GroupStore, draft: EventDraft): void {
  if (draft.person !== null) {
    persons.want(draft.projectId, draft.distinctId);
    if (draft.person.merge !== null) persons.want(draft.projectId, draft.person.merge.otherId);
  }
  if (draft.groups === null) return;
  groups.wantTypes(draft.projectId);
  const { update } = draft.groups;
  if (update !== null) groups.wantGroup(draft.projectId, update.typeName, update.key);
}

/** Does to persons and groups what the event says. First the merge: what follows belongs to the person that results. */
export function applyEvent(persons: PersonStore, groups: GroupStore, draft: EventDraft): void {
  applyToPerson(persons, draft);
  applyToGroups(groups, draft);
}

function applyToPerson(persons: PersonStore, draft: EventDraft): void {
  const { person: intent, projectId, distinctId, micros, uuid } = draft;
  if (intent === null) return;
  if (intent.merge !== null) {
    const { otherId, force } = intent.merge;
    const warning = mergeIds(persons, { projectId, targetId: distinctId, otherId, force, eventUuid: uuid, micros });
    if (warning !== null) draft.warnings.push(warning);
  }
  persons.update(persons.touch(projectId, distinctId, micros), intent.changes, micros);
}

function applyToGroups(groups: GroupStore, draft: EventDraft): void {
  if (draft.groups === null) return;
  const { projectId, micros, uuid } = draft;
  const { typeNames, update } = draft.groups;
  const refused = new Set<string>();
  for (const name of typeNames) {
    const index = groups.typeIndex(projectId, name);
    if (index === undefined) refused.add(name);
    else if (update?.typeName === name) groups.update(projectId, index, update.key, update.set, micros);
  }
  for (const groupType of refused) {
    draft.warnings.push({ type: 'too_many_group_types', details: { eventUuid: uuid, groupType } });
  }
}
