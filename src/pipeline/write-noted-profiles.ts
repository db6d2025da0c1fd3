import type { Queries } from '../stores/metadata/queries.ts';
import { writeSharedGroups } from './persons/group-rows.ts';
import { GroupStore } from './persons/group-store.ts';
import { PersonStore } from './persons/person-store.ts';
import { noChanges } from './persons/registers.ts';
import { writeSharedPersons } from './persons/shared-person-rows.ts';
import type { ProfileDraft, ProfileNote } from './profile-notes.ts';
import { updateGroups } from './steps/update-groups.ts';
import { updatePerson } from './steps/update-persons.ts';
import { wantForDraft } from './steps/want-records.ts';
import { createWarningTally, type WarningCount } from './warning-tally.ts';

/**
 * Does to persons and groups what a window has noted, from what the store has now. Belongs into the transaction that moves the
 * cursor. Returns what the events are warned of. Errors: ProfileConflictError, when another slot has changed what it depends on.
 */
export async function writeNotedProfiles(tx: Queries, notes: readonly ProfileNote[]): Promise<readonly WarningCount[]> {
  if (notes.length === 0) return [];
  const persons = new PersonStore(tx);
  const groups = GroupStore.shared(tx);
  const warnings = createWarningTally();
  persons.begin(1);
  groups.begin(1);
  await load({ persons, groups }, notes);
  const toGroups = updateGroups({ groups });
  for (const note of notes) {
    if (note.kind === 'touch') persons.touch(note.projectId, note.distinctId, note.micros);
    else {
      const draft: ProfileDraft = { ...note.draft, warnings: [] };
      consult(persons, draft);
      updatePerson(persons, draft);
      toGroups(draft);
      for (const warning of draft.warnings) warnings.add(draft.projectId, note.receivedAt, warning);
    }
  }
  await writeSharedPersons(tx, persons.takeSharedChanges());
  await writeSharedGroups(tx, groups.takeSharedChanges());
  return warnings.counts();
}

interface Profiles {
  readonly persons: PersonStore;
  readonly groups: GroupStore;
}

/** Groups first, which are locked: every slot locks in the same order. */
async function load(profiles: Profiles, notes: readonly ProfileNote[]): Promise<void> {
  const want = wantForDraft(profiles);
  for (const note of notes) {
    if (note.kind === 'touch') profiles.persons.want(note.projectId, note.distinctId);
    else want(note.draft);
  }
  await profiles.groups.load();
  await profiles.persons.load();
}

/** Of a person who is only seen again nothing is decided: its id goes on to be known, and its creation can only move back. */
function consult(persons: PersonStore, { projectId, distinctId, person }: ProfileDraft): void {
  if (person === null || (person.merge === null && person.changes === noChanges)) return;
  persons.consult(projectId, distinctId);
  if (person.merge !== null) persons.consult(projectId, person.merge.otherId);
}
