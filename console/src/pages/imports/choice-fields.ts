import { counted } from '../../components/format-number.ts';
import type { ImportChoice, NameLists } from '../../../../src/wire/contract/import-choice.ts';
import type { UnusualValue } from '../../../../src/wire/contract/unusual-values.ts';
import { isJsonObject } from '../../components/json-value.ts';

/** Reads the setting `choose`, given as JSON or JSON text. Returns `undefined` for invalid JSON. */
export function readChoice(setting: unknown): ImportChoice | undefined {
  if (setting === undefined || setting === null || setting === '') return {};
  const value = typeof setting === 'string' ? parsed(setting) : setting;
  // Good enough to display; the API validates the fields.
  return isJsonObject(value) ? (value as ImportChoice) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Removes empty lists, strings and tables. Returns `''`, which clears the setting, if nothing remains. */
export function choiceSetting(choice: ImportChoice): ImportChoice | '' {
  const kept = withoutEmpty(choice);
  return kept === undefined ? '' : (kept as ImportChoice);
}

function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).flatMap(([key, item]) => {
    // In a value table, null and "" are values.
    const inner = key === 'values' && isJsonObject(item) && Object.keys(item).length > 0 ? item : withoutEmpty(item);
    return inner === undefined ? [] : [[key, inner] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Formats a share as a percentage, without binary rounding errors. */
export function percentOf(share: number | undefined): string {
  return share === undefined ? '' : String(Number((share * 100).toPrecision(12)));
}

/** Parses a percentage. Returns `undefined` for 100 % and for invalid input. */
export function shareOf(percent: string): number | undefined {
  const number = Number(percent.trim().replace(/%$/, ''));
  if (percent.trim() === '' || !(number > 0) || number >= 100) return undefined;
  return Number((number / 100).toPrecision(12));
}

/** Labels of the rules for unusual values. */
export const unusualValueFields: Readonly<Record<UnusualValue, string>> = {
  padded_ids: 'Ids with leading or trailing white space',
  long_ids: 'Ids of more than 200 characters',
  long_names: 'Event names of more than 200 characters',
  long_properties: 'Property names of more than 200 characters',
  odd_times: 'Times before 2000, in the future, or unreadable',
};

/** Summarises the selection for a collapsed panel. */
export function choiceWords(choice: ImportChoice): readonly string[] {
  const { time, events, properties, identity, user_agent, sample, join, ...rules } = choice;
  const unusual = Object.keys(rules).length;
  const parts = [
    timeWords(time),
    listWords('events', events),
    listWords('properties', properties),
    countWords(Object.keys(properties?.rename ?? {}).length, 'renamed'),
    countWords(Object.keys(properties?.values ?? {}).length, 'with mapped values'),
    identity === undefined || identity === 'first_user' ? '' : identity.replace('_', ' '),
    user_agent === true ? 'user agents read' : '',
    sample === undefined ? '' : `${percentOf(sample)}% of persons`,
    countWords(join?.length ?? 0, 'joined'),
    unusual === 0 ? '' : `${counted(unusual, 'rule')} for unusual values`,
  ];
  return parts.filter((words) => words !== '');
}

function timeWords({ from, to }: NonNullable<ImportChoice['time']> = {}): string {
  if (from === undefined && to === undefined) return '';
  return [from && `from ${from}`, to && `before ${to}`].filter(Boolean).join(' ');
}

function listWords(what: string, { only = [], except = [] }: NameLists = {}): string {
  const parts = [only.length > 0 && `only ${only.length}`, except.length > 0 && `without ${except.length}`];
  const words = parts.filter(Boolean).join(', ');
  return words === '' ? '' : `${what}: ${words}`;
}

function countWords(count: number, words: string): string {
  return count === 0 ? '' : `${count} ${words}`;
}
