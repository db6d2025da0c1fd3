import type { WarningOccurrence } from '../../wire/contract/warnings.ts';
import { isPlaceholderId } from '../../base/placeholder-ids.ts';
import type { Person } from './person.ts';
import { mergeRegisters } from './registers.ts';
import type { PersonStore } from './person-store.ts';

/**
 * Decides whether two ids become one person:
 * - `always`: they do.
 * - `unless_identified`: they do unless each has a person and the other one is identified.
 * - `first_user`: like `unless_identified`, but an id without a person does not join an identified person either: the other id is a
 *   device that already has its user.
 */
export type MergeRule = 'always' | 'unless_identified' | 'first_user';

/** Request of an event to merge two ids. */
export interface MergeRequest {
  readonly projectId: number;
  /** The event's distinct_id: its person remains. */
  readonly targetId: string;
  readonly otherId: string;
  readonly rule: MergeRule;
  readonly eventUuid: string;
  /** Time of the event, µs. */
  readonly micros: number;
}

/**
 * Maximum of ids per person. An id that accumulates thousands of others represents no person (a constant, a shared account), and
 * every response and further merge would cost as much as all of them.
 */
export const idsOfPersonMax = 2500;

/** Merges two ids into one person, or returns a warning with the reason why not. The event is stored in both cases. */
export function mergePersons(
  store: PersonStore,
  request: MergeRequest,
  idsMax = idsOfPersonMax,
): WarningOccurrence | null {
  const { projectId, targetId, otherId, micros } = request;
  if (targetId === otherId) return null;
  const illegal = isPlaceholderId(targetId) ? targetId : isPlaceholderId(otherId) ? otherId : null;
  if (illegal !== null) return illegalWarning(illegal, request);
  const target = store.find(projectId, targetId);
  const other = store.find(projectId, otherId);
  if (target !== undefined && target === other) return null;
  const refusal = refusalOf(request, target, other, idsMax);
  if (refusal !== null) {
    // Prevents a later user of the same device from joining this id.
    store.identify(target ?? store.create(projectId, targetId, micros));
    return refusal;
  }
  if (target !== undefined && other !== undefined) joinPersons(store, target, other);
  else {
    const person = target ?? other ?? store.create(projectId, targetId, micros);
    store.attach(person, other === undefined ? otherId : targetId);
    store.identify(person);
  }
  return null;
}

/** `undefined` means that no person has the id yet. */
function refusalOf(
  request: MergeRequest,
  target: Person | undefined,
  other: Person | undefined,
  idsMax: number,
): WarningOccurrence | null {
  const keepsOther = request.rule === 'first_user' || (request.rule === 'unless_identified' && target !== undefined);
  if (other?.isIdentified === true && keepsOther) return identifiedWarning(request);
  const ids = (target?.idCount ?? 1) + (other?.idCount ?? 1);
  return ids > idsMax ? tooManyIdsWarning(request, idsMax) : null;
}

function joinPersons(store: PersonStore, target: Person, other: Person): void {
  mergeRegisters(target.registers, other.registers);
  target.createdAt = Math.min(target.createdAt, other.createdAt);
  store.identify(target);
  store.absorb(target, other);
}

function illegalWarning(illegalDistinctId: string, { otherId, targetId, eventUuid }: MergeRequest): WarningOccurrence {
  return {
    type: 'cannot_merge_with_illegal_distinct_id',
    details: { illegalDistinctId, otherDistinctId: otherId, distinctId: targetId, eventUuid },
  };
}

function identifiedWarning({ otherId, targetId, eventUuid }: MergeRequest): WarningOccurrence {
  return {
    type: 'cannot_merge_already_identified',
    details: { sourcePersonDistinctId: otherId, targetPersonDistinctId: targetId, eventUuid },
  };
}

function tooManyIdsWarning({ otherId, targetId, eventUuid }: MergeRequest, idsMax: number): WarningOccurrence {
  return {
    type: 'cannot_merge_too_many_ids',
    details: { sourcePersonDistinctId: otherId, targetPersonDistinctId: targetId, idsMax, eventUuid },
  };
}
