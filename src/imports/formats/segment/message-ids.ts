import { isNobody } from '../../../base/nobody-ids.ts';
import { textOf } from './message-values.ts';

/** Whom a message is about. */
export interface MessageIds {
  readonly distinctId: string;
  /** The id that the user had before, on the same device; undefined: none, or the same. */
  readonly anonymousId: string | undefined;
}

/** `userId`, else `anonymousId`; an id that means nobody only where there is no other. Undefined: no id at all. */
export function messageIds(userId: unknown, anonymousId: unknown): MessageIds | undefined {
  const given = [textOf(userId), textOf(anonymousId)] as const;
  const [user, anonymous] = given.map((id) => (id === undefined || isNobody(id) ? undefined : id));
  const distinctId = user ?? anonymous ?? given[0] ?? given[1];
  if (distinctId === undefined) return undefined;
  return { distinctId, anonymousId: user !== undefined && anonymous !== user ? anonymous : undefined };
}
