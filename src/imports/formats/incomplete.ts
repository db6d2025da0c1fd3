import { idOf, type Json } from './read-values.ts';
import type { FoundNote } from './record-notes.ts';

/** Members of an answer that says what went wrong, and of nothing else. */
const errorMembers: ReadonlySet<string> = new Set(
  `attr code detail details error error_code error_description errors message msg reason request request_id result
  status status_code statusCode success timestamp type`.split(/\s+/),
);
const saying = ['error', 'errors', 'error_description', 'message', 'detail', 'msg', 'reason'];

/** What an error message of an API says, where a record is one; undefined: it is none. */
export function errorAnswer(record: Json): string | undefined {
  const members = Object.keys(record);
  if (members.length === 0 || !members.every((member) => errorMembers.has(member))) return undefined;
  const isError = record['error'] !== undefined || record['errors'] !== undefined || record['result'] === 'error';
  if (!isError && record['detail'] === undefined) return undefined;
  for (const member of saying) {
    const text = idOf(record[member]);
    if (text !== undefined) return text;
  }
  return JSON.stringify(record).slice(0, 100);
}

/** Lines of text by which a source says, in the middle of its records, that others are missing. By slug of the format. */
const lines: Readonly<Record<string, readonly (readonly [RegExp, FoundNote['of']])[]>> = {
  mixpanel: [[/^\s*\[?(?:export )?terminated early\]?\s*$/i, 'mixpanel_terminated_early']],
};

/** Of a line that is no JSON. */
export function incompleteLine(slug: string, text: string): FoundNote['of'] | undefined {
  return lines[slug]?.find(([pattern]) => pattern.test(text))?.[1];
}
