import type { EventDraft, RecordContext } from '../event-draft.ts';
import type { Outcome } from '../outcome.ts';

/**
 * Leaves of a draft what its record is for: an event with its row may come twice, for persons and for groups. What is wrong with it,
 * `outcome` included, is reported once, by the record for persons.
 */
export function keepLearners(
  draft: Pick<EventDraft, 'person' | 'groups' | 'warnings'>,
  { rowsStored }: Pick<RecordContext, 'rowsStored'>,
  outcome: Outcome,
): Outcome {
  if (rowsStored === 'persons') draft.groups = null;
  if (rowsStored !== 'groups') return outcome;
  draft.person = null;
  draft.warnings.length = 0;
  if (outcome !== undefined) draft.groups = null;
  return undefined;
}
