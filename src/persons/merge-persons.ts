import type { WarningOccurrence } from '../contract/warnings.ts';
import { isNobody } from '../base/nobody-ids.ts';
import type { Person } from './person.ts';
import { mergeRegisters } from './registers.ts';
import type { PersonStore } from './person-store.ts';

/**
 * What becomes of two ids:
 * - `always`: they are one person.
 * - `unless_identified`: the same, unless each has a person, and the other one is identified.
 * - `first_user`: the same, but an id that nobody has does not join an identified person: the other id is a device, and has its user.
 */
export type MergeRule = 'always' | 'unless_identified' | 'first_user';

/** An event that says that two ids are one person. */
export interface MergeRequest {
  readonly projectId: number;
  /** The event's distinct_id: its person stays. */
  readonly targetId: string;
  readonly otherId: string;
  readonly rule: MergeRule;
  readonly eventUuid: string;
  /** Time of the event, µs. */
  readonly micros: number;
}

/** Makes two ids one person, or says why not. The event itself is stored either way. */
export function mergePersons(store: PersonStore, request: MergeRequest): WarningOccurrence | null {
  const { projectId, targetId, otherId, micros } = request;
  if (targetId === otherId) return null;
  const illegal = isNobody(targetId) ? targetId : isNobody(otherId) ? otherId : null;
  if (illegal !== null) return illegalWarning(illegal, request);
  const target = store.find(projectId, targetId);
  const other = store.find(projectId, otherId);
  if (target === undefined) {
    if (request.rule === 'first_user' && other?.isIdentified === true) {
      store.identify(store.create(projectId, targetId, micros));
      return identifiedWarning(request);
    }
    const person = other ?? store.create(projectId, targetId, micros);
    store.attach(person, other === undefined ? otherId : targetId);
    store.identify(person);
    return null;
  }
  if (other === undefined) {
    store.attach(target, otherId);
    store.identify(target);
    return null;
  }
  if (target === other) return null;
  if (other.isIdentified && request.rule !== 'always') {
    // So that nobody who comes to the same device later takes this id over.
    store.identify(target);
    return identifiedWarning(request);
  }
  joinPersons(store, target, other);
  return null;
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
