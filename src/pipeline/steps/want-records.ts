import { span, spanStride } from '../../batch/scanned-batch.ts';
import { state, type OpenRecord } from '../open-record.ts';
import type { ProfileDraft } from '../profile-notes.ts';
import type { Step, StepDeps } from '../step.ts';
import type { PersonStore } from '../../persons/person-store.ts';

/** Announces the persons that the events need, where these are this slot's own. A spliced event whose person is known and no younger only needs its row. */
export function wantForSpliced({ persons, projects }: Pick<StepDeps, 'persons' | 'projects'>): Step {
  return (record) => {
    const { states, splicer, context } = record;
    if (projects.isShared(context.projectId)) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.spliced) continue;
      const createdAt = createdAtOf(persons, record, index);
      // It only ever falls, whatever else the window does to the person.
      if (createdAt <= (splicer.micros[index] as number)) states[index] = state.row;
    }
  };
}

/** Infinity: the person is not in memory, and announced. */
function createdAtOf(persons: PersonStore, { context, scan, splicer }: OpenRecord, index: number): number {
  const { projectId } = context;
  const cell = index * spanStride + span.distinctId;
  const from = (scan.spans[cell] as number) + 1;
  const to = (scan.spans[cell + 1] as number) - 1;
  const recent = persons.recent.find(projectId, scan.json, from, to);
  if (recent !== undefined) return recent.createdAt;
  const distinctId = splicer.distinctId(index);
  const person = persons.project(projectId).get(distinctId);
  if (person === undefined) {
    persons.want(projectId, distinctId);
    return Infinity;
  }
  persons.recent.remember(person, scan.json, from, to);
  return person.createdAt;
}

/** Announces the persons and groups that a draft needs. */
export function wantForDraft({ persons, groups }: Pick<StepDeps, 'persons' | 'groups'>) {
  return (draft: Omit<ProfileDraft, 'warnings'>): void => {
    const { projectId, distinctId, person, groups: intent } = draft;
    if (person !== null) {
      persons.want(projectId, distinctId);
      if (person.merge !== null) persons.want(projectId, person.merge.otherId);
    }
    if (intent === null) return;
    groups.wantTypes(projectId);
    if (intent.update !== null) groups.wantGroup(projectId, intent.update.typeName, intent.update.key);
  };
}
