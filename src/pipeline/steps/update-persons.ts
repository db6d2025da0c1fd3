import { mergePersons } from '../persons/merge-persons.ts';
import type { PersonStore } from '../persons/person-store.ts';
import { draftsInOrder, state } from '../open-record.ts';
import type { ProfileDraft } from '../profile-notes.ts';
import { updateSpliced } from '../spliced-person.ts';
import type { Step, StepDeps } from '../step.ts';
import { failure } from '../outcome.ts';

/** Applies the events to persons, in order. */
export function updatePersons({
  persons,
  results,
  projects,
}: Pick<StepDeps, 'persons' | 'results' | 'projects'>): Step {
  return (record) => {
    const { states, context } = record;
    if (projects.isShared(context.projectId)) return;
    const draftOf = draftsInOrder(record);
    for (let index = 0; index < states.length; index++) {
      if (states[index] === state.spliced) {
        updateSpliced(persons, record, index);
      } else if (states[index] === state.draft) {
        try {
          updatePerson(persons, draftOf(index));
        } catch (error) {
          results.end(record, index, failure(error));
        }
      }
    }
  };
}

/** Applies the merge first: the other changes belong to the resulting person. */
export function updatePerson(persons: PersonStore, draft: ProfileDraft): void {
  const { person: intent, projectId, distinctId, micros, uuid } = draft;
  if (intent === null) return;
  if (intent.merge !== null) {
    const { otherId, rule } = intent.merge;
    const warning = mergePersons(persons, { projectId, targetId: distinctId, otherId, rule, eventUuid: uuid, micros });
    if (warning !== null) draft.warnings.push(warning);
  }
  persons.update(persons.touch(projectId, distinctId, micros), intent.changes, micros);
}
