import { state } from '../open-record.ts';
import { changesPerson, findPerson, hasOlderPerson } from '../spliced-person.ts';
import type { ProfileDraft } from '../profile-notes.ts';
import type { Step, StepDeps } from '../step.ts';

/**
 * Announces the persons that the events need, unless several slots share them. A spliced event that does not change its person, and is
 * not older than it, only needs its row.
 */
export function wantForSpliced({ persons, projects }: Pick<StepDeps, 'persons' | 'projects'>): Step {
  return (record) => {
    const { states, context } = record;
    if (projects.isShared(context.projectId)) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.spliced) continue;
      const { splicer, scan } = record;
      const isChange = changesPerson(scan, index);
      if (!isChange && hasOlderPerson(persons, record, index)) {
        states[index] = state.row;
        continue;
      }
      const person = findPerson(persons, record, index);
      if (person === undefined) persons.want(context.projectId, splicer.distinctId(index));
      // A person's creation time only ever decreases, whatever else the window changes.
      else if (!isChange && person.createdAt <= (splicer.micros[index] as number)) states[index] = state.row;
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
