import type { EventDraft, RecordContext } from '../event-draft.ts';
import type { Outcome } from '../outcome.ts';

/**
 * Removes from a draft the changes that its record is not for: an event with a row may arrive twice, for persons and for groups. Its
 * faults, including `outcome`, are reported once, by the record for persons.
 */
export function keepProfileKind(
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
