import type { NameLists } from '../../wire/contract/import-choice.ts';
import { createNameList } from './name-list.ts';
import { isLink, type Filter } from './step.ts';

const reasons = { only: 'not in the list of events', except: 'in the list of events to leave out' } as const;
/** Counted by itself, for the check warns of it: without their links ids stay persons of their own. */
export const linkNotListed = 'link between ids that is not in the list of events';

export function eventNames(lists: NameLists): Filter {
  const judge = createNameList(lists);
  return (event) => {
    const by = judge(event.event);
    if (by === undefined) return undefined;
    return by === 'only' && isLink(event) ? linkNotListed : reasons[by];
  };
}
