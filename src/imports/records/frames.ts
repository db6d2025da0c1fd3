import { isObject } from '../../base/json.ts';
import { layoutOfObject } from './read-values.ts';

/** Members that services page their records with. */
const listNames = ['results', 'data', 'records', 'items', 'rows', 'events'];
/** What else such a page holds: nothing that belongs to records. */
const pageNames: ReadonlySet<string> = new Set(
  [
    'next previous prev count total total_count totalCount page pages page_size pageSize per_page perPage limit offset',
    'has_more hasMore more next_page nextPage next_page_token nextPageToken next_cursor nextCursor cursor status ok success',
    'error errors message meta metadata links _links paging pagination took timed_out object url request_id',
  ].flatMap((names) => names.split(' ')),
);

/**
 * The member of the first object that holds records, where the object is a page of them: `{"results": […], "next": null}`. An object
 * with anything else is a record that holds a list. @param start begins with `{`
 */
export function wrappedList(start: string): string | undefined {
  const head = Buffer.from(start);
  return listNames.find((name) => layoutOfObject(head, name) === 'batch' && isPage(start, name));
}

function isPage(start: string, list: string): boolean {
  const whole = firstObject(start);
  if (whole !== undefined) return Object.keys(whole).every((key) => key === list || pageNames.has(key));
  // Its end is not in sight: what stands before the list decides. A record may begin with its events, a page seldom does.
  const before = start.slice(0, start.search(new RegExp(`"${list}"\\s*:\\s*\\[`)));
  const names = [...before.matchAll(/"([^"\\]*)"\s*:/g)].map(([, name]) => name ?? '');
  return (list !== 'events' || names.length > 0) && names.every((name) => pageNames.has(name));
}

function firstObject(start: string): Record<string, unknown> | undefined {
  const end = endOfObject(start);
  return end === -1 ? undefined : parsed(start.slice(0, end));
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Where the object that begins here has ended; -1: not in this text. */
function endOfObject(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^])*"|[{}]/g)) {
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (token === '}' && depth === 0) return index + 1;
  }
  return -1;
}

/** The first object takes one line, and a comma stands at its end or before the next one. */
export function linesWithCommas(start: string): boolean {
  const end = endOfObject(start);
  return (
    end !== -1 &&
    !start.slice(0, end).includes('\n') &&
    /^[ \t]*(,[ \t]*\r?(\n|$)|\r?\n[ \t]*,[ \t]*\{)/.test(start.slice(end))
  );
}

/** Several objects stand on most lines, without a break between them: concatenated JSON, as Kinesis Firehose writes it. */
export function severalOnALine(start: string): boolean {
  // What stands behind the last line break may be cut off; where there is none, it is all there is.
  const lines = start.split('\n');
  const whole = (lines.length > 1 ? lines.slice(0, -1) : lines).filter((line) => line.trim() !== '');
  const several = whole.filter((line) => {
    const end = endOfObject(line);
    return end !== -1 && /^\s*,?\s*\{/.test(line.slice(end));
  });
  return several.length * 2 > whole.length;
}

/** The first line is a JSON string, and that is an object as text. */
export function isOneString(start: string): boolean {
  if (!start.startsWith('"')) return false;
  return textOfString(start.slice(0, start.search(/\n|$/))) !== undefined;
}

/** The text of a JSON string that holds an object; undefined: it is something else. */
export function textOfString(line: string): string | undefined {
  try {
    const text: unknown = JSON.parse(line);
    return typeof text === 'string' && parsed(text) !== undefined ? text : undefined;
  } catch {
    return undefined;
  }
}
