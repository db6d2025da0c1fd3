import { eventKey, eventKeyAt, propertyKey, propertyKeyAt, spanOfKey, type EventKey } from './event-keys.ts';
import {
  BodySyntaxError,
  firstMember,
  keyEnd,
  plainStringEnd,
  nextMember,
  skipColon,
  skipValue,
  type Meter,
} from './json-syntax.ts';
import { bodyEventsMax, type ScanLimits } from './limits.ts';
import { eventFlag, scanProblems, span, spanStride, type ScanProblem } from './scanned-batch.ts';
import { isNullAt, isObjectAt, isStringAt, stringAt } from './spans.ts';

const closeObject = 0x7d;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;

/** Rows of spans that grow with the events found. */
export class SpanTable {
  count = 0;
  /** Reused for all events of the body; each clears it first. */
  readonly found = noFindings();
  readonly #bodyBytes: number;
  #cells = new Int32Array(0);

  /** @param bodyBytes guides the first allocation */
  constructor(bodyBytes: number) {
    this.#bodyBytes = bodyBytes;
  }

  /** Replaces all rows. */
  replace(rows: Int32Array<ArrayBuffer>): void {
    this.#cells = rows;
    this.count = rows.length / spanStride;
  }

  /** Adds an event without fields and returns the position of its row. */
  add(at: number): number {
    if (this.count === bodyEventsMax) {
      throw new BodySyntaxError(
        `expected at most ${bodyEventsMax} events in a body, got: more; send several smaller batches`,
        at,
        'request_too_large',
      );
    }
    const row = this.count++ * spanStride;
    if (row + spanStride > this.#cells.length) this.#grow();
    this.#cells.fill(-1, row, row + span.flags);
    this.#cells[row + span.flags] = 0;
    this.#cells[row + span.problem] = 0;
    return row;
  }

  #grow(): void {
    const guess = spanStride * (4 + Math.floor(this.#bodyBytes / 300));
    const larger = new Int32Array(Math.min(bodyEventsMax * spanStride, Math.max(guess, this.#cells.length * 2)));
    larger.set(this.#cells);
    this.#cells = larger;
  }

  put(cell: number, from: number, to: number): void {
    this.#cells[cell] = from;
    this.#cells[cell + 1] = to;
  }

  get(cell: number): number {
    return this.#cells[cell] as number;
  }

  set(cell: number, value: number): void {
    this.#cells[cell] = value;
  }

  reset(): void {
    this.count = 0;
  }

  spans(): Int32Array {
    return this.#cells.subarray(0, this.count * spanStride);
  }
}

/** Scans an element of any type and returns the position after it. */
export function scanEvent(json: Buffer, start: number, meter: Meter, limits: ScanLimits, table: SpanTable): number {
  const row = table.add(start);
  meter.keys = 0;
  meter.depth = 1;
  const isObject = isObjectAt(json, start);
  const end = isObject ? scanFields(json, start, meter, table, row) : skipValue(json, start, meter, 0);
  table.put(row + span.event, start, end);
  if (!isObject) mark(table, row, 'invalid_event');
  else if (end - start > limits.eventBytesMax) mark(table, row, 'event_too_large');
  else if (meter.depth > limits.depthMax) mark(table, row, 'event_too_deep');
  else if (meter.keys > limits.keysMax) mark(table, row, 'too_many_keys');
  return end;
}

function mark(table: SpanTable, row: number, problem: ScanProblem): void {
  table.set(row + span.problem, 1 + scanProblems.indexOf(problem));
}

/** Findings in the properties, kept until the end of the event decides whether they count. */
interface PropertyFindings {
  idFrom: number;
  idTo: number;
  tokenFrom: number;
  tokenTo: number;
  setFrom: number;
  setTo: number;
  setOnceFrom: number;
  setOnceTo: number;
  unsetFrom: number;
  unsetTo: number;
  flags: number;
}

function noFindings(): PropertyFindings {
  const none = -1;
  return {
    idFrom: none,
    idTo: none,
    tokenFrom: none,
    tokenTo: none,
    setFrom: none,
    setTo: none,
    setOnceFrom: none,
    setOnceTo: none,
    unsetFrom: none,
    unsetTo: none,
    flags: 0,
  };
}

function clear(found: PropertyFindings, flags: number): void {
  found.idFrom = found.tokenFrom = found.setFrom = found.setOnceFrom = found.unsetFrom = -1;
  found.flags = flags;
}

function scanFields(json: Buffer, start: number, meter: Meter, table: SpanTable, row: number): number {
  const { found } = table;
  clear(found, eventFlag.emptyProperties);
  let at = firstMember(json, start + 1, closeObject);
  while (json[at] !== closeObject) {
    meter.keys++;
    let end = plainStringEnd(json, at);
    const isPlain = end > 0;
    if (!isPlain) end = keyEnd(json, at, meter);
    const key: EventKey = eventKeyAt(json, at, end, !isPlain);
    const from = json[end] === colon && json[end + 1] === quote ? end + 1 : skipColon(json, end);
    if (key === eventKey.properties) at = scanProperties(json, from, meter, found);
    else {
      const valueEnd = json[from] === quote ? plainStringEnd(json, from) : -1;
      at = valueEnd > 0 ? valueEnd : skipValue(json, from, meter, 1);
    }
    if (key !== eventKey.other) table.put(row + (spanOfKey[key] as number), from, at);
    if (json[at] === comma && json[at + 1] === quote) at++;
    else at = nextMember(json, at, closeObject);
  }
  resolveFindings(json, table, row);
  return at + 1;
}

function scanProperties(json: Buffer, start: number, meter: Meter, found: PropertyFindings): number {
  clear(found, 0);
  if (!isObjectAt(json, start)) {
    if (isNullAt(json, start)) found.flags = eventFlag.emptyProperties;
    return skipValue(json, start, meter, 1);
  }
  if (meter.depth < 2) meter.depth = 2;
  let at = firstMember(json, start + 1, closeObject);
  if (json[at] === closeObject) found.flags = eventFlag.emptyProperties;
  while (json[at] !== closeObject) {
    meter.keys++;
    // Most members are `"key":"text",` without escapes or white space; others take the general path.
    let end = plainStringEnd(json, at);
    const isPlain = end > 0;
    if (!isPlain) end = keyEnd(json, at, meter);
    const key = propertyKeyAt(json, at, end, !isPlain);
    const from = json[end] === colon && json[end + 1] === quote ? end + 1 : skipColon(json, end);
    const valueEnd = json[from] === quote ? plainStringEnd(json, from) : -1;
    at = valueEnd > 0 ? valueEnd : skipValue(json, from, meter, 2);
    if (key !== propertyKey.other) keepFinding(found, key, from, at);
    if (json[at] === comma && json[at + 1] === quote) at++;
    else at = nextMember(json, at, closeObject);
  }
  return at + 1;
}

function keepFinding(found: PropertyFindings, key: number, from: number, to: number): void {
  switch (key) {
    case propertyKey.special:
      found.flags |= eventFlag.special;
      break;
    case propertyKey.ip:
      found.flags |= eventFlag.hasIp;
      break;
    case propertyKey.distinctId:
      found.idFrom = from;
      found.idTo = to;
      break;
    case propertyKey.token:
      found.tokenFrom = from;
      found.tokenTo = to;
      break;
    case propertyKey.set:
      found.setFrom = from;
      found.setTo = to;
      break;
    case propertyKey.setOnce:
      found.setOnceFrom = from;
      found.setOnceTo = to;
      break;
    default:
      found.unsetFrom = from;
      found.unsetTo = to;
  }
}

/** At the end of an event, uses findings in the properties for fields that the event lacks, and sets the flags. */
function resolveFindings(json: Buffer, table: SpanTable, row: number): void {
  const { found } = table;
  let { flags } = found;
  if (found.setFrom >= 0) table.put(row + span.ownSet, found.setFrom, found.setTo);
  if (found.setOnceFrom >= 0) table.put(row + span.ownSetOnce, found.setOnceFrom, found.setOnceTo);
  if (found.unsetFrom >= 0) table.put(row + span.ownUnset, found.unsetFrom, found.unsetTo);
  if (found.idFrom >= 0 && isAbsent(json, table.get(row + span.distinctId))) {
    table.put(row + span.distinctId, found.idFrom, found.idTo);
    flags |= eventFlag.idInProperties;
  }
  if (found.tokenFrom >= 0 && isAbsent(json, table.get(row + span.token))) {
    table.put(row + span.token, found.tokenFrom, found.tokenTo);
  }
  const name = table.get(row + span.name);
  if (name >= 0 && isStringAt(json, name) && startsWithDollar(json, name, table.get(row + span.name + 1))) {
    flags |= eventFlag.dollarName;
  }
  table.set(row + span.flags, flags);
}

function isAbsent(json: Buffer, from: number): boolean {
  return from < 0 || isNullAt(json, from);
}

function startsWithDollar(json: Buffer, from: number, to: number): boolean {
  const first = json[from + 1];
  return first === 0x24 || (first === 0x5c && stringAt(json, from, to).startsWith('$'));
}
