// Exports parts of convert/ for their tests.
export { valueEnd } from './convert/bytes';
export { writeContent } from './convert/content';
export { unescapeText, unescapedEnd } from './convert/unescape';
export { crc32, md5Of, sha1Of } from './convert/hashes';
export { areDigits, isKept, microsOf, numberZone, textZone, timeUnit, writeTime } from './convert/times';

export function heapBase(): usize {
  return __heap_base;
}
