import { hourMs } from '../base/time.ts';
import { isoMicros, type Clock } from '../base/clock.ts';
import type { Failpoint } from '../base/failpoint.ts';
import type { EventLogReader } from '../log/eventlog.ts';
import { addDeliveries, type Delivery } from '../queue/jobs/deliveries.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { holdSlot, type SlotHold } from '../stores/metadata/slot-leases.ts';
import { writeGroupChanges, writeSharedGroups } from './persons/group-rows.ts';
import { writePersonChanges } from './persons/person-rows.ts';
import { ProfileConflictError } from './persons/profile-conflict.ts';
import { writeStorageChanges } from '../plugins/services/storage-changes.ts';
import { writeChainChanges } from './transform/transform-chains.ts';
import { addConfigCounts } from '../plugins/services/config-metrics.ts';
import { advanceCursor, notePending } from './cursors.ts';
import { addDeadLetters } from './dead-letters.ts';
import { addWarnings, createWarningTally, type WarningCount } from './warning-tally.ts';
import { addViolations } from './violation-tally.ts';
import { changesToWrite } from './window-projects.ts';
import type { Window } from './window.ts';
import { GroupStore } from './persons/group-store.ts';
import { PersonStore } from './persons/person-store.ts';
import { noChanges } from './persons/registers.ts';
import { writeSharedPersons } from './persons/shared-person-rows.ts';
import type { ProfileDraft, ProfileNote } from './profile-notes.ts';
import { updateGroups } from './steps/update-groups.ts';
import { updatePerson } from './steps/update-persons.ts';
import { wantForDraft } from './steps/want-records.ts';

export interface StoreDeps {
  readonly db: Metadata;
  /** Holds the window's slot. */
  readonly hold: SlotHold;
  readonly reader: Pick<EventLogReader, 'commit'>;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  /** Inserts rows, retrying while the store is unavailable. */
  readonly insert: (window: Window, isRepeated: boolean) => Promise<void>;
  /** Called whenever another slot has changed the same persons or groups. */
  readonly onConflict?: () => void;
}

/** Attempts of a transaction concurrent with other slots; the next attempt locks its projects exclusively. */
const sharedTriesMax = 3;

/**
 * Stores one window so that a crash at any point leaves its events stored once and counted once:
 * 1. the end of the range is recorded, so that a restart reads exactly this range again;
 * 2. the rows are inserted into the event store under a token named after the range, which drops a repetition;
 * 3. everything else is written to the metadata store in one transaction, together with the cursor;
 * 4. the log may delete the range.
 *
 * @throws SlotLostError when another worker has the slot; that worker stores the range, this one stores nothing more
 */
export async function storeWindow(deps: StoreDeps, window: Window): Promise<void> {
  const { db, hold, failpoint } = deps;
  const isRepeated = await notePending(db, hold, window.lane, window.to);
  failpoint('before_insert');
  for (const part of rowParts(window)) if (part.rows.rows > 0) await deps.insert(part, isRepeated);
  failpoint('after_insert');
  await commitWindow(deps, window);
  failpoint('after_metadata_commit');
  deps.reader.commit(window.lane, window.to);
  failpoint('after_log_commit');
}

/** Repeats only the transaction when another slot has changed the same persons in the meantime. */
async function commitWindow({ db, hold, clock, onConflict }: StoreDeps, window: Window): Promise<void> {
  for (let tries = 0; ; tries++) {
    const alone = tries >= sharedTriesMax;
    try {
      await db.transaction().execute((tx) => writeWindow(tx, hold, window, clock.now(), alone));
      return;
    } catch (error) {
      if (!(error instanceof ProfileConflictError) || alone) throw error;
      onConflict?.();
    }
  }
}

/** Yields one insert each, with separate tokens: a part that is inserted again is dropped like a whole window. */
function* rowParts(window: Window): Generator<Window> {
  const { earlierRows, token } = window;
  for (const [at, rows] of earlierRows.entries()) {
    yield { ...window, rows, token: `${token}:part-${at}-of-${earlierRows.length + 1}` };
  }
  yield earlierRows.length === 0 ? window : { ...window, token: `${token}:last-of-${earlierRows.length + 1}` };
}

/** Writes everything of a window except its rows, without changes of deleted projects. `now` in ms; `alone`: see changesToWrite. */
export async function writeWindow(
  tx: Queries,
  hold: SlotHold,
  window: Window,
  now: number,
  alone = false,
): Promise<void> {
  await holdSlot(tx, hold);
  const changes = await changesToWrite(tx, window, alone);
  const { persons, groups, notes, chains, warnings, violations, deadLetters, observed } = changes;
  await writePersonChanges(tx, persons);
  await writeGroupChanges(tx, groups);
  const noted = await writeNotedProfiles(tx, notes);
  await writeChainChanges(tx, chains, now);
  await writeStorageChanges(tx, window.storage);
  await writeDeliveries(tx, observed, now);
  await addWarnings(tx, [...warnings, ...noted]);
  await addViolations(tx, violations.counts);
  await addDeadLetters(tx, deadLetters);
  await advanceCursor(tx, { slot: hold.slot, lane: window.lane }, window.from, window.to);
}

/** Queues events for subscribed plugins; those of a plugin that is too far behind are counted as skipped. */
async function writeDeliveries(tx: Queries, observed: readonly Delivery[], now: number): Promise<void> {
  if (observed.length === 0) return;
  const projectOf = new Map(observed.map(({ configId, projectId }) => [configId, projectId]));
  const skipped = await addDeliveries(tx, observed, now);
  const hour = isoMicros(now - (now % hourMs));
  const counts = [...skipped].map(([configId, count]) => ({
    configId,
    projectId: projectOf.get(configId) ?? 0,
    hour,
    succeeded: 0,
    failed: 0,
    dropped: 0,
    skipped: count,
    micros: 0,
  }));
  await addConfigCounts(tx, counts);
}

/**
 * Applies a window's notes to persons and groups as the store contains them now. Belongs in the transaction that moves the cursor.
 * Returns the warnings of the events.
 *
 * @throws ProfileConflictError when another slot has changed what the result depends on
 */
async function writeNotedProfiles(tx: Queries, notes: readonly ProfileNote[]): Promise<readonly WarningCount[]> {
  if (notes.length === 0) return [];
  const persons = new PersonStore(tx);
  const groups = GroupStore.shared(tx);
  const warnings = createWarningTally();
  persons.begin(1);
  groups.begin(1);
  await load({ persons, groups }, notes);
  const applyToGroups = updateGroups({ groups });
  for (const note of notes) {
    if (note.kind === 'touch') persons.touch(note.projectId, note.distinctId, note.micros);
    else {
      const draft: ProfileDraft = { ...note.draft, warnings: [] };
      consult(persons, draft);
      updatePerson(persons, draft);
      applyToGroups(draft);
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

/** Loads groups first, which are locked: every slot locks in the same order. */
async function load(profiles: Profiles, notes: readonly ProfileNote[]): Promise<void> {
  const want = wantForDraft(profiles);
  for (const note of notes) {
    if (note.kind === 'touch') profiles.persons.want(note.projectId, note.distinctId);
    else want(note.draft);
  }
  await profiles.groups.load();
  await profiles.persons.load();
}

/** A touch does not depend on the state of its person: the id stays known, and the creation time can only decrease. */
function consult(persons: PersonStore, { projectId, distinctId, person }: ProfileDraft): void {
  if (person === null || (person.merge === null && person.changes === noChanges)) return;
  persons.consult(projectId, distinctId);
  if (person.merge !== null) persons.consult(projectId, person.merge.otherId);
}
