import { formatProperties } from './event-draft.ts';
import type { Step, StepDeps } from './step.ts';
import { createEachDraft, createEachRaw } from './steps/each-event.ts';
import { dropNotEvents } from './steps/drop-not-events.ts';
import { keepLearners } from './steps/keep-learners.ts';
import { noteProfiles } from './steps/note-profiles.ts';
import { readEvents } from './steps/read-events.ts';
import { readGroups } from './steps/read-groups.ts';
import { refuseUnknownProject } from './steps/refuse-unknown-project.ts';
import { selectEvents } from './steps/select-events.ts';
import { settleProfile } from './steps/settle-profile.ts';
import { spliceEvents } from './steps/splice-events.ts';
import { tellStored } from './steps/tell-stored.ts';
import { transformEvents, takeTransformed } from './steps/transform-events.ts';
import { updateGroups } from './steps/update-groups.ts';
import { updatePersons } from './steps/update-persons.ts';
import { validateEvent } from './steps/validate-event.ts';
import { wantForDraft, wantForSpliced } from './steps/want-records.ts';
import { warnOfOtherContent } from './steps/warn-of-other-content.ts';
import { warnOfSkew } from './steps/warn-of-skew.ts';
import { writeRows } from './steps/write-rows.ts';

/** Steps between which there may be a wait, see window-builder.ts. */
export interface Order {
  readonly read: readonly Step[];
  readonly understand: readonly Step[];
  readonly store: readonly Step[];
}

/**
 * The order of an event from the log to its row, from top to bottom. What a step ends (as dropped, or as a dead letter) the
 * later ones do not see. Of the events of a record, each step takes all before the next one begins.
 */
export function createOrder(deps: StepDeps): Order {
  const { observers, projects, results } = deps;
  const eachRaw = createEachRaw(deps);
  const eachDraft = createEachDraft(deps);
  // Of projects whose persons and groups are this slot's own.
  const eachOwn: typeof eachDraft = (act) => {
    const step = eachDraft(act);
    return (record) => (projects.isShared(record.context.projectId) ? undefined : step(record));
  };
  return {
    read: [
      // First: while a range is bisected, an event that is not selected is not even counted.
      selectEvents(deps),
      refuseUnknownProject(deps),
      // Before anybody looks into an event: the bytes in the log were good on arrival, by the rules of that time.
      eachRaw(validateEvent),
      // The fast path: what nobody has to look into is never read. From here it goes on to its person and its row.
      spliceEvents(deps),
      eachRaw(readEvents(deps)),
      // Before the transformations, which are for events.
      eachDraft(dropNotEvents),
      unlessStored(transformEvents(deps)),
    ],
    // Here the events of several records wait for transformations that take their time.
    understand: [
      eachDraft(takeTransformed(deps)),
      // After the transformations: they decide what an event says of persons and groups, and of which. The profile comes first, since it
      // refuses what must not touch a group.
      eachDraft((draft, { context }) => keepLearners(draft, context, settleProfile(draft) ?? readGroups(draft))),
      wantForSpliced(deps),
      eachOwn(wantForDraft(deps)),
    ],
    // Here the persons and groups are loaded that the events of several records want.
    store: [
      // Before anything is changed: an event that cannot be written must not leave traces.
      unlessStored(eachDraft(formatProperties)),
      updatePersons(deps),
      eachOwn(updateGroups(deps)),
      noteProfiles(deps),
      unlessStored(
        // Rows hold no person, so that it does not matter that persons go on changing.
        writeRows(deps),
        tellStored(deps),
        warnOfSkew(deps),
        warnOfOtherContent(deps),
        eachDraft((draft, { context }) => observers.saw(draft, context.receivedAt)),
      ),
      // Last: warnings are of events that were stored. The others have a dead letter.
      eachDraft(({ warnings }, { context }) => results.warn(context, warnings)),
    ],
  };
}

/** Of events that get their rows here: nothing of others but what concerns persons and groups. */
function unlessStored(...steps: readonly Step[]): Step {
  return (record) => {
    if (record.context.rowsStored === undefined) for (const step of steps) step(record);
  };
}
