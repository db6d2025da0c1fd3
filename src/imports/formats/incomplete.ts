import { idOf, type Json } from './read-values.ts';
import type { FoundNote } from './record-notes.ts';

/** Members that an error response consists of. */
const errorMembers: ReadonlySet<string> = new Set(
  `attr code detail details error error_code error_description errors message msg reason request request_id result
  status status_code statusCode success timestamp type`.split(/\s+/),
);
const messageMembers = ['error', 'errors', 'error_description', 'message', 'detail', 'msg', 'reason'];

/** Returns the message of a record that is an error response of an API, or `undefined`. */
export function errorAnswer(record: Json): string | undefined {
  const members = Object.keys(record);
  if (members.length === 0 || !members.every((member) => errorMembers.has(member))) return undefined;
  const isError = record['error'] !== undefined || record['errors'] !== undefined || record['result'] === 'error';
  if (!isError && record['detail'] === undefined) return undefined;
  for (const member of messageMembers) {
    const text = idOf(record[member]);
    if (text !== undefined) return text;
  }
  return JSON.stringify(record).slice(0, 100);
}

/** Lines of text with which a source reports, among its records, that others are missing. By slug of the format. */
const lines: Readonly<Record<string, readonly (readonly [RegExp, FoundNote['of']])[]>> = {
  mixpanel: [[/^\s*\[?(?:export )?terminated early\]?\s*$/i, 'mixpanel_terminated_early']],
};

/** Returns the note for a line that is not JSON. */
export function incompleteLine(slug: string, text: string): FoundNote['of'] | undefined {
  return lines[slug]?.find(([pattern]) => pattern.test(text))?.[1];
}
