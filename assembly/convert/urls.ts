// Derives host and path from the page of an event that lacks them.
import { BACKSLASH, QUOTE, byteAt, copyTo } from './bytes';
import { isNull, valueFrom, valueTo } from './properties';

/** Numbers of properties that are read. */
export let urlProperty: i32 = 0;
export let hostProperty: i32 = 0;
export let pathProperty: i32 = 0;

/** `"$host":"` */
const hostKey: usize = memory.data<u8>([0x22, 0x24, 0x68, 0x6f, 0x73, 0x74, 0x22, 0x3a, 0x22, 0, 0, 0, 0, 0, 0, 0]);
const HOST_KEY: usize = 9;
/** `"$pathname":"` */
const pathKey: usize = memory.data<u8>([
  0x22, 0x24, 0x70, 0x61, 0x74, 0x68, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0, 0, 0,
]);
const PATH_KEY: usize = 13;

/** 0 means that nothing is written. */
let hostFrom: usize = 0;
let hostTo: usize = 0;
let pathTo: usize = 0;
let lacksHost: bool = false;
let lacksPath: bool = false;

export function prepareUrl(): bool {
  hostFrom = 0;
  const from = valueFrom(urlProperty);
  lacksHost = valueFrom(hostProperty) == 0;
  lacksPath = valueFrom(pathProperty) == 0;
  if (from == 0 || byteAt(from) != QUOTE || !(lacksHost || lacksPath)) return true;
  // A null would be filled in at its position.
  if (isNull(valueFrom(hostProperty)) || isNull(valueFrom(pathProperty))) return false;
  const to = valueTo(urlProperty) - 1;
  const start = schemeEnd(from + 1);
  // Another scheme, or this one in capitals or escapes.
  if (start == 0) return byteAt(from + 1) != 0x68 && byteAt(from + 1) != 0x48 && byteAt(from + 1) != BACKSLASH;
  let end = start;
  while (end < to && byteAt(end) != 0x2f && byteAt(end) != 0x3f && byteAt(end) != 0x23) {
    if (byteAt(end) == 0x40 || byteAt(end) == BACKSLASH) return false;
    end++;
  }
  if (end == start) return false;
  const host = end;
  while (end < to && byteAt(end) != 0x3f && byteAt(end) != 0x23) {
    if (byteAt(end) == BACKSLASH) return false;
    end++;
  }
  hostFrom = start;
  hostTo = host;
  pathTo = end;
  return true;
}

/** Returns the position after `http://` or `https://`. */
function schemeEnd(from: usize): usize {
  if (load<u32>(from) != 0x70747468) return 0;
  const rest = byteAt(from + 4) == 0x73 ? from + 5 : from + 4;
  return byteAt(rest) == 0x3a && load<u16>(rest + 1) == 0x2f2f ? rest + 3 : 0;
}

export function urlBytes(): u32 {
  return hostFrom == 0 ? 0 : <u32>(pathTo - hostFrom + HOST_KEY + PATH_KEY + 5);
}

export function writeUrl(start: usize): usize {
  let at = start;
  if (hostFrom == 0) return at;
  if (lacksHost) {
    at = copyTo(at, hostKey, HOST_KEY);
    at = endText(copyTo(at, hostFrom, hostTo - hostFrom));
  }
  if (!lacksPath) return at;
  at = copyTo(at, pathKey, PATH_KEY);
  if (pathTo == hostTo) store<u8>(at++, 0x2f);
  else at = copyTo(at, hostTo, pathTo - hostTo);
  return endText(at);
}

export function endText(at: usize): usize {
  store<u16>(at, 0x2c22);
  return at + 2;
}
