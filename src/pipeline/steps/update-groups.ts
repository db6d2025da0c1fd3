import type { ProfileDraft } from '../profile-notes.ts';
import type { StepDeps } from '../step.ts';

/** Applies a draft to groups. */
export function updateGroups({ groups }: Pick<StepDeps, 'groups'>) {
  return (draft: ProfileDraft): void => {
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
  };
}
