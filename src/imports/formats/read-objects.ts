import { isObject } from '../../base/json.ts';
import type { RecordReader, RecordResult } from './format.ts';
import { depthMax, isTooDeep, kindOf, type Json } from './read-values.ts';

/** Objects only, none too deep to become an event: what the reader gets has been checked for both. */
export function readObjects(read: (record: Json) => RecordResult): RecordReader {
  return (record) => {
    if (!isObject(record)) return { kind: 'unreadable', reason: `expected a JSON object, got ${kindOf(record)}` };
    if (isTooDeep(record)) return { kind: 'unreadable', reason: `expected at most ${depthMax} levels of nesting` };
    return read(record);
  };
}

const nobody = '00000000-0000-0000-0000-000000000000';
const junk = new Set(
  ['anon', 'anonymous', 'nil', 'none', 'null', 'n/a', 'na', 'undefined']
    .concat(['unknown', '<nil>', '0', '-1', 'true', 'false', '[]', '{}', 'nan', '[object object]', 'guest'])
    .concat(['distinctid', 'distinct_id', 'id', 'not_authenticated', 'email']),
);
const junkCharsMax = Math.max(...[...junk].map((id) => id.length));
/** Of `nobody`, with white space around it. */
const junkLengthMax = 40;

/** An id that means nobody, and would make one person of many strangers. */
export function isJunkId(id: string): boolean {
  if (id.length > junkLengthMax) return false;
  const text = id.trim();
  return text.length > junkCharsMax ? text === nobody : junk.has(text.toLowerCase());
}
