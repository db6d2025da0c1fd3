import { createMatcher } from '../../base/name-pattern.ts';
import type { NameLists } from '../../wire/contract/import-choice.ts';
import { isLink, type Filter } from './step.ts';

/** Returns the list that excludes a name; `undefined` if none does. */
export type NameList = (name: string) => 'only' | 'except' | undefined;

const knownMax = 10_000;

/** Remembers the answer for each name, since a source has few of them. */
export function createNameList({ only, except = [] }: NameLists): NameList {
  const allowed = only === undefined ? undefined : createMatcher(only);
  const refused = createMatcher(except);
  const known = new Map<string, 'only' | 'except' | undefined>();
  return (name) => {
    const answer = known.get(name);
    if (answer !== undefined || known.has(name)) return answer;
    if (known.size >= knownMax) known.clear();
    const excludedBy = refused(name) ? 'except' : allowed?.(name) === false ? 'only' : undefined;
    known.set(name, excludedBy);
    return excludedBy;
  };
}

const reasons = { only: 'not in the list of events', except: 'in the list of excluded events' } as const;
/** Counted separately, because the check warns about it: without their links, ids stay separate persons. */
export const linkNotListed = 'link between ids that is not in the list of events';

export function eventNames(lists: NameLists): Filter {
  const excludedBy = createNameList(lists);
  return (event) => {
    const by = excludedBy(event.event);
    if (by === undefined) return undefined;
    return by === 'only' && isLink(event) ? linkNotListed : reasons[by];
  };
}
