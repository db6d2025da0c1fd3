import { isUtf8 } from 'node:buffer';
import { batchKeyAt } from './event-keys.ts';
import type { FastScanner } from './fast-scan.ts';
import type { ScanLimits } from './limits.ts';
import { SpanTable, scanEvent } from './scan-event.ts';
import type { ScannedBatch } from './scanned-batch.ts';
import { isStringAt, stringAt, textAt } from './spans.ts';
import { threadScanner } from './thread-scanner.ts';
import {
  BodySyntaxError,
  createMeter,
  expected,
  firstMember,
  keyEnd,
  nextMember,
  skipColon,
  skipSpace,
  skipValue,
  type Meter,
} from './json-syntax.ts';

const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;

/**
 * Scans a body in one pass: checks UTF-8 and JSON, and finds the fields of every event without building objects. Throws only
 * BodySyntaxError, if the body is not JSON or has no place for events. An event over a limit, or an element that is not an
 * object, is marked with its problem, and the rest is scanned.
 */
export function scanBatch(json: Buffer, limits: ScanLimits): ScannedBatch {
  return scanBatchWith(threadScanner, json, limits);
}

/** Scans with or without a fast scanner, which leaves everything unusual to the functions of this file. */
export function scanBatchWith(fast: FastScanner | undefined, json: Buffer, limits: ScanLimits): ScannedBatch {
  if (!isUtf8(json)) throw new BodySyntaxError('expected the body to be UTF-8 text, got: bytes that are not UTF-8', 0);
  const start = skipSpace(json, 0);
  const table = new SpanTable(json.length);
  const root = json[start];
  if (root === openArray) {
    const end = scanArray(fast, json, start, limits, table);
    expectEnd(json, end);
    return { ...noBatchFields, json, root: 'array', count: table.count, spans: table.spans() };
  }
  if (root === openObject) return scanObject(fast, json, start, limits, table);
  if (isStringAt(json, start)) {
    throw new BodySyntaxError(
      'expected a batch object, an array of events or an event, got: a JSON string; send the batch itself, not JSON inside a string',
      start,
    );
  }
  throw expected(json, start, 'a batch object, an array of events or an event');
}

const noBatchFields = { token: undefined, historicalMigration: false, sentAt: undefined } as const;

interface BatchFields {
  batchFrom: number;
  hasEvent: boolean;
  token: string | undefined;
  historicalFrom: number;
  sentAt: string | undefined;
}

function scanObject(
  fast: FastScanner | undefined,
  json: Buffer,
  start: number,
  limits: ScanLimits,
  table: SpanTable,
): ScannedBatch {
  const meter = createMeter();
  const fields: BatchFields = {
    batchFrom: -1,
    hasEvent: false,
    token: undefined,
    historicalFrom: -1,
    sentAt: undefined,
  };
  expectEnd(json, scanRootMembers(fast, json, start, meter, limits, table, fields));
  if (fields.batchFrom >= 0 && json[fields.batchFrom] === openArray) {
    if (meter.depth > limits.depthMax) throw tooDeep(limits, start);
    const historicalMigration = readHistorical(json, fields.historicalFrom);
    const { token, sentAt } = fields;
    return { json, root: 'batch', count: table.count, spans: table.spans(), token, sentAt, historicalMigration };
  }
  if (fields.batchFrom >= 0 && !fields.hasEvent) throw notAnArray(json, fields.batchFrom);
  // Without a batch the object is a single event. It is scanned again as one; such bodies are small.
  table.reset();
  scanEvent(json, start, createMeter(), limits, table);
  return { ...noBatchFields, json, root: 'single', count: table.count, spans: table.spans() };
}

function scanRootMembers(
  fast: FastScanner | undefined,
  json: Buffer,
  start: number,
  meter: Meter,
  limits: ScanLimits,
  table: SpanTable,
  fields: BatchFields,
): number {
  let at = firstMember(json, start + 1, closeObject);
  while (json[at] !== closeObject) {
    meter.escaped = false;
    const end = keyEnd(json, at, meter);
    const key = batchKeyAt(json, at, end, meter.escaped);
    const from = skipColon(json, end);
    if (key === 'batch') {
      // Only for the first "batch", because each call copies the body.
      const scanner = fields.batchFrom < 0 ? fast : undefined;
      fields.batchFrom = from;
      table.reset();
      const isArray = json[from] === openArray;
      at = isArray ? scanArray(scanner, json, from, limits, table) : skipValue(json, from, meter, 1);
    } else {
      at = skipValue(json, from, meter, 1);
      if (key === 'token') fields.token = isStringAt(json, from) ? stringAt(json, from, at) : textAt(json, from, at);
      else if (key === 'historical') fields.historicalFrom = from;
      else if (key === 'sentAt') fields.sentAt = isStringAt(json, from) ? stringAt(json, from, at) : undefined;
      else if (key === 'event') fields.hasEvent = true;
    }
    at = nextMember(json, at, closeObject);
  }
  return at + 1;
}

/** Scans from the `[` and returns the position after the `]`. */
function scanArray(
  fast: FastScanner | undefined,
  json: Buffer,
  start: number,
  limits: ScanLimits,
  table: SpanTable,
): number {
  const found = fast?.scanElements(json, start, limits);
  if (found === undefined) return scanElements(json, start, limits, table);
  table.replace(found.spans);
  return found.end;
}

function scanElements(json: Buffer, start: number, limits: ScanLimits, table: SpanTable): number {
  const meter = createMeter();
  let at = firstMember(json, start + 1, closeArray);
  while (json[at] !== closeArray) at = nextMember(json, scanElement(json, at, meter, limits, table), closeArray);
  return at + 1;
}

/** Calls `scanEvent` and adds the event's index to syntax errors. */
function scanElement(json: Buffer, at: number, meter: Meter, limits: ScanLimits, table: SpanTable): number {
  const index = table.count;
  try {
    return scanEvent(json, at, meter, limits, table);
  } catch (error) {
    if (!(error instanceof BodySyntaxError) || error.code !== 'parse_error') throw error;
    throw new BodySyntaxError(`${error.message}, in event ${index} of the batch`, error.offset);
  }
}

function expectEnd(json: Buffer, from: number): void {
  const at = skipSpace(json, from);
  if (at < json.length) throw expected(json, at, 'the end of the body');
}

function readHistorical(json: Buffer, from: number): boolean {
  switch (json[from]) {
    case 0x74: // true
      return true;
    case undefined:
    case 0x66: // false
    case 0x6e: // null
      return false;
    default:
      throw expected(json, from, '"historical_migration" to be true or false');
  }
}

function tooDeep(limits: ScanLimits, at: number): BodySyntaxError {
  return new BodySyntaxError(`expected at most ${limits.depthMax} levels of nesting outside the events, got: more`, at);
}

function notAnArray(json: Buffer, at: number): BodySyntaxError {
  if (!isStringAt(json, at)) return expected(json, at, '"batch" to be an array of events');
  return new BodySyntaxError(
    'expected "batch" to be an array of events, got: a JSON string; send the array itself, not JSON inside a string',
    at,
  );
}
