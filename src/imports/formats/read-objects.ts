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
