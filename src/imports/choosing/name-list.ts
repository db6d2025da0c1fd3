import type { NameLists } from '../../wire/contract/import-choice.ts';
import { isLink, type Filter } from './step.ts';

/** Whether a name is left out by a list, and by which. */
export type NameList = (name: string) => 'only' | 'except' | undefined;

const knownMax = 10_000;

/** Each name is looked up once: a source has few of them. */
export function createNameList({ only, except = [] }: NameLists): NameList {
  const allowed = only === undefined ? undefined : createMatcher(only);
  const refused = createMatcher(except);
  const known = new Map<string, 'only' | 'except' | undefined>();
  return (name) => {
    const answer = known.get(name);
    if (answer !== undefined || known.has(name)) return answer;
    if (known.size >= knownMax) known.clear();
    const judged = refused(name) ? 'except' : allowed?.(name) === false ? 'only' : undefined;
    known.set(name, judged);
    return judged;
  };
}

/** Whether a name is one of these, or like one of their patterns. */
export function createMatcher(list: readonly string[]): (name: string) => boolean {
  const names = new Set(list.filter((each) => !each.includes('*')));
  const patterns = list.filter((each) => each.includes('*')).map((each) => each.split('*'));
  return (name) => names.has(name) || patterns.some((pieces) => isLike(name, pieces));
}

/** The pieces of a pattern between its stars, one after the other: the first that fits is the best, so none is tried twice. */
function isLike(name: string, pieces: readonly string[]): boolean {
  const [first = ''] = pieces;
  const last = pieces.at(-1) ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

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
