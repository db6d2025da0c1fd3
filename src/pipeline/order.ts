import { formatProperties } from './event-draft.ts';
import type { Step, StepDeps } from './step.ts';
import { checkPlan, checkSplicedNames } from './steps/check-plan.ts';
import { createEachDraft, createEachRaw } from './steps/each-event.ts';
import { dropKeptOut, dropSplicedKeptOut } from './steps/drop-kept-out.ts';
import { dropNotEvents } from './steps/drop-not-events.ts';
import { keepProfileKind } from './steps/keep-profile-kind.ts';
import { noteProfiles } from './steps/note-profiles.ts';
import { readEvents } from './steps/read-events.ts';
import { readGroups } from './steps/read-groups.ts';
import { refuseUnknownProject } from './steps/refuse-unknown-project.ts';
import { selectEvents } from './steps/select-events.ts';
import { resolveProfile } from './steps/resolve-profile.ts';
import { spliceEvents } from './steps/splice-events.ts';
import { showStored } from './steps/show-stored.ts';
import { transformEvents, takeTransformed } from './steps/transform-events.ts';
import { updateGroups } from './steps/update-groups.ts';
import { updatePersons } from './steps/update-persons.ts';
import { validateEvent } from './steps/validate-event.ts';
import { wantForDraft, wantForSpliced } from './steps/want-records.ts';
import { warnOfOtherContent } from './steps/warn-of-other-content.ts';
import { warnOfSkew } from './steps/warn-of-skew.ts';
import { writeRows } from './steps/write-rows.ts';

/** Phases of steps; the window builder may wait between two of them. */
export interface Order {
  readonly read: readonly Step[];
  readonly resolve: readonly Step[];
  readonly store: readonly Step[];
}

/**
 * Defines the order of an event from the log to its row, from top to bottom. Later steps do not see an event that a step has ended
 * (dropped, or a dead letter). Each step processes all events of a record before the next step begins.
 */
export function createOrder(deps: StepDeps): Order {
  const { observers, projects, results } = deps;
  const eachRaw = createEachRaw(deps);
  const eachDraft = createEachDraft(deps);
  // Only for projects whose persons and groups no other slot changes.
  const eachOwn: typeof eachDraft = (act) => {
    const step = eachDraft(act);
    return (record) => (projects.isShared(record.context.projectId) ? undefined : step(record));
  };
  return {
    read: [
      // First: while a range is bisected, an event that is not selected is not even counted.
      selectEvents(deps),
      refuseUnknownProject(deps),
      // Before an event is read: its bytes were valid on arrival, by the rules of that time.
      eachRaw(validateEvent),
      // The fast path: events whose properties are not needed are never parsed. They continue with their person and row below.
      spliceEvents(deps),
      dropSplicedKeptOut(deps),
      checkSplicedNames(deps),
      eachRaw(readEvents(deps)),
      // Before the transformations, which apply to events only.
      eachDraft(dropNotEvents),
      // Before the transformations, which may send events elsewhere.
      unlessStored(eachDraft(dropKeptOut(deps))),
      unlessStored(transformEvents(deps)),
    ],
    // Before this phase the events of several records wait for asynchronous transformations.
    resolve: [
      eachDraft(takeTransformed(deps)),
      // Again: transformations may give events another id.
      unlessStored(eachDraft(dropKeptOut(deps))),
      // After the transformations: the plan describes events as they are stored, and transformations may correct what clients send.
      // Before persons and groups: an event that is not stored must not change them.
      unlessStored(eachDraft(checkPlan(deps))),
      // After the transformations, which decide which persons and groups an event changes and how. The profile comes first, since it
      // refuses events that must not change a group.
      eachDraft((draft, { context }) => keepProfileKind(draft, context, resolveProfile(draft) ?? readGroups(draft))),
      wantForSpliced(deps),
      eachOwn(wantForDraft(deps)),
    ],
    // Before this phase the persons and groups of several records are loaded.
    store: [
      // Before anything is changed: an event that cannot be written must have no effects.
      unlessStored(eachDraft(formatProperties)),
      updatePersons(deps),
      eachOwn(updateGroups(deps)),
      noteProfiles(deps),
      unlessStored(
        // Rows contain no person, so later changes of persons do not matter.
        writeRows(deps),
        showStored(deps),
        warnOfSkew(deps),
        warnOfOtherContent(deps),
        eachDraft((draft, { context }) => observers.record(draft, context.receivedAt)),
      ),
      // Last: only stored events have warnings. The others have a dead letter.
      eachDraft(({ warnings }, { context }) => results.warn(context, warnings)),
    ],
  };
}

/** Skips records whose events already have their rows, and which only update persons and groups. */
function unlessStored(...steps: readonly Step[]): Step {
  return (record) => {
    if (record.context.rowsStored === undefined) for (const step of steps) step(record);
  };
}
