//
const QUOTE: u32 = 0x22,
  BACKSLASH: u32 = 0x5c,
  COMMA: u32 = 0x2c,
  COLON: u32 = 0x3a,
  OPEN_O: u32 = 0x7b,
  CLOSE_O: u32 = 0x7d,
  OPEN_A: u32 = 0x5b,
  CLOSE_A: u32 = 0x5d;
let keys: i32 = 0;
let depthMax: i32 = 0;
let keysMax: i32 = 0;
let bytesMax: i32 = 0;
export let count: i32 = 0;
// memory layout: 0..: tables; see JS
// key places: 32*256 bytes at 1024 ; key bytes: 32 bytes each at 16384 (index*32): length known by place ; key ids at 20480+index
const EVENT_PLACES: usize = 1024;
const PROP_PLACES: usize = 1024 + 8192;
const KEY_BYTES: usize = 1024 + 16384;
const KEY_IDS: usize = KEY_BYTES + 64 * 32;
export const tables: usize = 1024;

function isSpace(b: u32): bool {
  return b == 0x20 || b == 0x0a || b == 0x0d || b == 0x09;
}
function skipSpace(at: usize): usize {
  while (isSpace(load<u8>(at))) at++;
  return at;
}

// From the opening quote to after the closing one; 0: odd. escaped set.
let escaped: bool = false;
function stringEnd(at: usize): usize {
  at++;
  while (true) {
    const chunk = v128.load(at);
    const odd = v128.or(
      v128.or(i8x16.eq(chunk, i8x16.splat(0x22)), i8x16.eq(chunk, i8x16.splat(0x5c))),
      i8x16.lt_u(chunk, i8x16.splat(0x20)),
    );
    const mask = i8x16.bitmask(odd);
    if (mask == 0) {
      at += 16;
      continue;
    }
    at += ctz(mask);
    const b = load<u8>(at);
    if (b == QUOTE) return at + 1;
    if (b != BACKSLASH) return 0;
    escaped = true;
    at = escapeEnd(at);
    if (at == 0) return 0;
  }
}
function escapeEnd(at: usize): usize {
  const b = load<u8>(at + 1);
  if (b == 0x75) {
    for (let i: usize = 2; i < 6; i++) {
      const h: u32 = load<u8>(at + i);
      if (!((h >= 0x30 && h <= 0x39) || (h >= 0x41 && h <= 0x46) || (h >= 0x61 && h <= 0x66))) return 0;
    }
    return at + 6;
  }
  if (b == QUOTE || b == BACKSLASH || b == 0x2f || b == 0x62 || b == 0x66 || b == 0x6e || b == 0x72 || b == 0x74)
    return at + 2;
  return 0;
}
function isDigit(b: u32): bool {
  return b - 0x30 < 10;
}
function numberEnd(at: usize): usize {
  if (load<u8>(at) == 0x2d) at++;
  let b: u32 = load<u8>(at);
  if (b == 0x30) at++;
  else {
    if (!isDigit(b)) return 0;
    do {
      at++;
    } while (isDigit(load<u8>(at)));
  }
  if (load<u8>(at) == 0x2e) {
    at++;
    if (!isDigit(load<u8>(at))) return 0;
    do {
      at++;
    } while (isDigit(load<u8>(at)));
  }
  b = load<u8>(at);
  if (b == 0x65 || b == 0x45) {
    at++;
    b = load<u8>(at);
    if (b == 0x2b || b == 0x2d) at++;
    if (!isDigit(load<u8>(at))) return 0;
    do {
      at++;
    } while (isDigit(load<u8>(at)));
  }
  return at;
}
function valueEnd(at: usize, depth: i32): usize {
  const b: u32 = load<u8>(at);
  if (b == QUOTE) return stringEnd(at);
  if (b == OPEN_O) return objectEnd(at, depth + 1);
  if (b == OPEN_A) return arrayEnd(at, depth + 1);
  if (b == 0x74) return load<u32>(at) == 0x65757274 ? at + 4 : 0;
  if (b == 0x66) return load<u32>(at + 1) == 0x65736c61 ? at + 5 : 0;
  if (b == 0x6e) return load<u32>(at) == 0x6c6c756e ? at + 4 : 0;
  return numberEnd(at);
}
function objectEnd(at: usize, depth: i32): usize {
  if (depth > depthMax) return 0;
  at = skipSpace(at + 1);
  if (load<u8>(at) == CLOSE_O) return at + 1;
  while (true) {
    if (load<u8>(at) != QUOTE) return 0;
    keys++;
    at = stringEnd(at);
    if (at == 0) return 0;
    if (load<u8>(at) != COLON) {
      at = skipSpace(at);
      if (load<u8>(at) != COLON) return 0;
    }
    at = skipSpace(at + 1);
    at = valueEnd(at, depth);
    if (at == 0) return 0;
    let b: u32 = load<u8>(at);
    if (b != COMMA && b != CLOSE_O) {
      at = skipSpace(at);
      b = load<u8>(at);
    }
    if (b == CLOSE_O) return at + 1;
    if (b != COMMA) return 0;
    at = skipSpace(at + 1);
  }
}
function arrayEnd(at: usize, depth: i32): usize {
  if (depth > depthMax) return 0;
  at = skipSpace(at + 1);
  if (load<u8>(at) == CLOSE_A) return at + 1;
  while (true) {
    at = valueEnd(at, depth);
    if (at == 0) return 0;
    at = skipSpace(at);
    const b: u32 = load<u8>(at);
    if (b == CLOSE_A) return at + 1;
    if (b != COMMA) return 0;
    at = skipSpace(at + 1);
  }
}
function keyOf(places: usize, at: usize, end: usize): u32 {
  const length = end - at - 2;
  if (length > 31) return 0;
  const place: u32 = load<u8>(places + ((length << 8) | <usize>load<u8>(at + 1)));
  if (place == 0) return 0;
  const bytes = KEY_BYTES + (place << 5);
  for (let i: usize = 1; i < length; i++) if (load<u8>(bytes + i) != load<u8>(at + 1 + i)) return 0;
  return load<u8>(KEY_IDS + place);
}
let base: usize = 0;
// property findings
let idFrom: usize,
  idTo: usize,
  tokenFrom: usize,
  tokenTo: usize,
  setFrom: usize,
  setTo: usize,
  onceFrom: usize,
  onceTo: usize,
  unsetFrom: usize,
  unsetTo: usize,
  flags: i32;
function properties(at: usize): usize {
  idFrom = 0;
  tokenFrom = 0;
  setFrom = 0;
  onceFrom = 0;
  unsetFrom = 0;
  flags = 0;
  const first: u32 = load<u8>(at);
  if (first != OPEN_O) {
    if (first == 0x6e) flags = 8;
    return valueEnd(at, 1);
  }
  if (depthMax < 2) return 0;
  at = skipSpace(at + 1);
  if (load<u8>(at) == CLOSE_O) {
    flags = 8;
    return at + 1;
  }
  while (true) {
    if (load<u8>(at) != QUOTE) return 0;
    keys++;
    escaped = false;
    const end = stringEnd(at);
    if (end == 0 || escaped) return 0;
    const key = keyOf(PROP_PLACES, at, end);
    at = end;
    if (load<u8>(at) != COLON) {
      at = skipSpace(at);
      if (load<u8>(at) != COLON) return 0;
    }
    const from = skipSpace(at + 1);
    at = load<u8>(from) == QUOTE ? stringEnd(from) : valueEnd(from, 2);
    if (at == 0) return 0;
    if (key != 0) {
      switch (key) {
        case 1:
          idFrom = from;
          idTo = at;
          break;
        case 2:
          tokenFrom = from;
          tokenTo = at;
          break;
        case 3:
          flags |= 2;
          break;
        case 4:
          flags |= 1;
          break;
        case 5:
          setFrom = from;
          setTo = at;
          break;
        case 6:
          onceFrom = from;
          onceTo = at;
          break;
        default:
          unsetFrom = from;
          unsetTo = at;
      }
    }
    let b: u32 = load<u8>(at);
    if (b != COMMA && b != CLOSE_O) {
      at = skipSpace(at);
      b = load<u8>(at);
    }
    if (b == CLOSE_O) return at + 1;
    if (b != COMMA) return 0;
    at = skipSpace(at + 1);
  }
}
function put(cell: usize, from: usize, to: usize): void {
  store<i32>(cell, from - base);
  store<i32>(cell + 4, to - base);
}
function isAbsent(cell: usize): bool {
  const from = load<i32>(cell);
  return from < 0 || load<u8>(base + from) == 0x6e;
}
function event(at: usize, row: usize): usize {
  keys = 0;
  const start = at;
  if (load<u8>(at) != OPEN_O) return 0;
  memory.fill(row, 0xff, 104);
  store<i32>(row + 104, 0);
  store<i32>(row + 108, 0);
  idFrom = 0;
  tokenFrom = 0;
  setFrom = 0;
  onceFrom = 0;
  unsetFrom = 0;
  flags = 8;
  at = skipSpace(at + 1);
  if (load<u8>(at) == CLOSE_O) at++;
  else
    while (true) {
      if (load<u8>(at) != QUOTE) return 0;
      keys++;
      escaped = false;
      const end = stringEnd(at);
      if (end == 0 || escaped) return 0;
      const key = keyOf(EVENT_PLACES, at, end);
      at = end;
      if (load<u8>(at) != COLON) {
        at = skipSpace(at);
        if (load<u8>(at) != COLON) return 0;
      }
      const from = skipSpace(at + 1);
      at = key == 5 ? properties(from) : load<u8>(from) == QUOTE ? stringEnd(from) : valueEnd(from, 1);
      if (at == 0) return 0;
      if (key != 0) put(row + ((<usize>key) << 3), from, at);
      let b: u32 = load<u8>(at);
      if (b != COMMA && b != CLOSE_O) {
        at = skipSpace(at);
        b = load<u8>(at);
      }
      if (b == CLOSE_O) {
        at++;
        break;
      }
      if (b != COMMA) return 0;
      at = skipSpace(at + 1);
    }
  put(row, start, at);
  if (<i32>(at - start) > bytesMax || keys > keysMax) return 0;
  if (setFrom) put(row + 80, setFrom, setTo);
  if (onceFrom) put(row + 88, onceFrom, onceTo);
  if (unsetFrom) put(row + 96, unsetFrom, unsetTo);
  if (idFrom && isAbsent(row + 16)) {
    put(row + 16, idFrom, idTo);
    flags |= 16;
  }
  if (tokenFrom && isAbsent(row + 72)) put(row + 72, tokenFrom, tokenTo);
  const name = load<i32>(row + 8);
  if (name >= 0 && load<u8>(base + name) == QUOTE) {
    const c = load<u8>(base + name + 1);
    if (c == 0x24) flags |= 4;
    else if (c == 0x5c) return 0;
  }
  store<i32>(row + 104, flags);
  return at;
}
/** From the [ to after the ]; 0: odd. */
export function elements(
  json: usize,
  from: usize,
  rows: usize,
  rowsMax: i32,
  depth: i32,
  maxKeys: i32,
  maxBytes: i32,
): usize {
  base = json;
  depthMax = depth;
  keysMax = maxKeys;
  bytesMax = maxBytes;
  count = 0;
  let at = skipSpace(json + from + 1);
  if (load<u8>(at) == CLOSE_A) return at + 1 - json;
  while (true) {
    if (count == rowsMax) return 0;
    at = event(at, rows + <usize>count * 112);
    if (at == 0) return 0;
    count++;
    at = skipSpace(at);
    const b: u32 = load<u8>(at);
    if (b == CLOSE_A) return at + 1 - json;
    if (b != COMMA) return 0;
    at = skipSpace(at + 1);
  }
}
