import { state } from '../open-record.ts';
import { findPerson, hasOlderPerson, saysOfPerson } from '../spliced-person.ts';
import type { ProfileDraft } from '../profile-notes.ts';
import type { Step, StepDeps } from '../step.ts';

/** Announces the persons that the events need, where these are this slot's own. A spliced event whose person is known, no younger, and learns nothing only needs its row. */
export function wantForSpliced({ persons, projects }: Pick<StepDeps, 'persons' | 'projects'>): Step {
  return (record) => {
    const { states, context } = record;
    if (projects.isShared(context.projectId)) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.spliced) continue;
      const { splicer, scan } = record;
      const says = saysOfPerson(scan, index);
      if (!says && hasOlderPerson(persons, record, index)) {
        states[index] = state.row;
        continue;
      }
      const person = findPerson(persons, record, index);
      if (person === undefined) persons.want(context.projectId, splicer.distinctId(index));
      // Its creation only ever falls, whatever else the window does to the person.
      else if (!says && person.createdAt <= (splicer.micros[index] as number)) states[index] = state.row;
    }
  };
}

/** Announces the persons and groups that a draft needs. */
export function wantForDraft({ persons, groups }: Pick<StepDeps, 'persons' | 'groups'>) {
  return (draft: Omit<ProfileDraft, 'warnings'>): void => {
    const { projectId, distinctId, person, groups: intent } = draft;
    if (person !== null) {
      if (person.merge === null) persons.want(projectId, distinctId);
      else for (const id of [distinctId, person.merge.otherId]) persons.wantForMerge(projectId, id);
    }
    if (intent === null) return;
    groups.wantTypes(projectId);
    if (intent.update !== null) groups.wantGroup(projectId, intent.update.typeName, intent.update.key);
  };
}
