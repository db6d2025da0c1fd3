import type { NameLists } from '../../../../src/wire/contract/import-choice.ts';
import { plainText } from '../../components/plain-text.ts';
import type { Preview } from './imports-query.ts';

/** A name in the first records of a source. */
export interface FoundName {
  readonly name: string;
  /** Events with this name, or with this property. */
  readonly count: number;
  /** A value of the property; empty for an event. */
  readonly example: string;
}

export interface FoundNames {
  /** Events in the previewed records. */
  readonly total: number;
  readonly events: readonly FoundName[];
  readonly properties: readonly FoundName[];
}

const namesMax = 500;
const exampleCharsMax = 60;

/** Returns the names in a preview without a selection, the most frequent first. */
export function foundNames(preview: Preview | undefined): FoundNames {
  const events = new Map<string, FoundName>();
  const properties = new Map<string, FoundName>();
  let total = 0;
  for (const { event } of preview?.results.flatMap((record) => record.events) ?? []) {
    if (event === null) continue;
    total += 1;
    count(events, event.event, '');
    for (const [name, value] of Object.entries(event.properties)) count(properties, name, exampleOf(value));
  }
  return { total, events: ranked(events), properties: ranked(properties) };
}

function count(names: Map<string, FoundName>, name: string, example: string): void {
  const known = names.get(name);
  if (known === undefined && names.size >= namesMax) return;
  names.set(name, { name, count: (known?.count ?? 0) + 1, example: known?.example || example });
}

function exampleOf(value: unknown): string {
  const text = plainText(typeof value === 'string' ? value : JSON.stringify(value));
  return text.length > exampleCharsMax ? `${text.slice(0, exampleCharsMax)}…` : text;
}

function ranked(names: ReadonlyMap<string, FoundName>): readonly FoundName[] {
  return [...names.values()].toSorted((left, right) => right.count - left.count || left.name.localeCompare(right.name));
}

/** Whether a name is imported; `pattern`: an entry with `*`, or the list of those to import, excludes it. */
export function selectionOf(name: string, { only = [], except = [] }: NameLists): 'imported' | 'excluded' | 'pattern' {
  if (except.includes(name)) return 'excluded';
  const isExcluded = except.some((pattern) => matches(pattern, name));
  const isIncluded = only.length === 0 || only.some((pattern) => matches(pattern, name));
  return isIncluded && !isExcluded ? 'imported' : 'pattern';
}

/** `*` matches any characters. */
function matches(pattern: string, name: string): boolean {
  const source = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${source}$`, 's').test(name);
}

/** Excludes a name, or imports it again. */
export function withName(lists: NameLists, name: string, isImported: boolean): NameLists {
  const others = (lists.except ?? []).filter((each) => each !== name);
  return { ...lists, except: isImported ? others : [...others, name] };
}
