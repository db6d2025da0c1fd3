import { scanLimits } from '../../src/wire/batch/limits.ts';
import { scanBatch } from '../../src/wire/batch/scan.ts';
import { eventFlag } from '../../src/wire/batch/scanned-batch.ts';
import { fieldFrom, fieldTo, flagsOf } from '../../src/wire/batch/spans.ts';
import { dayMicros } from '../../src/wire/batch/timestamps.ts';
import { profileEvents, withoutPersonChanges } from '../../src/wire/contract/profile-events.ts';
import { EventRowWriter } from '../../src/stores/events/rows.ts';
import {
  personEffect,
  rowWords as word,
  wordsPerRow,
  type ConvertedRows,
} from '../../src/imports/stages/check/rows/converted-rows.ts';

export interface RowSource {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  readonly micros: number;
  readonly place: number;
  /** JSON of the properties, without a mark. */
  readonly text: string;
}

/** Whether the converter may handle such an event. */
export function isConvertible({ event, text }: RowSource): boolean {
  const scan = scanBatch(Buffer.from(`[{"event":"a","properties":${text}}]`), scanLimits(1e6));
  return !profileEvents.has(event) && fieldFrom(scan, 0, 'ownUnset') < 0;
}

/** Builds rows as the converter does. Adds the numbers of new ids and shapes to those of the segment. */
export function convertedRows(
  events: readonly RowSource[],
  ids: Map<string, number>,
  shapes: Map<string, number>,
): ConvertedRows {
  const writer = new EventRowWriter();
  const rows = events.length;
  const words = new Uint32Array(rows * wordsPerRow);
  const personEffects = new Uint8Array(rows);
  const starts = events.map((source) => {
    const at = writer.end;
    const { micros, place, text, ...own } = source;
    const keyDay = Math.floor(micros / dayMicros);
    const numbers = { projectId: 3, historical: true, receivedAtMicros: place, timestampMicros: micros, keyDay };
    writer.write({ ...numbers, ...own, properties: text, importRun: '' });
    const bytes = Buffer.byteLength(text);
    return { ...at, text: writer.end.properties - bytes - at.properties, bytes };
  });
  for (const [row, { event, text }] of events.entries()) {
    const scan = scanBatch(Buffer.from(`[{"event":"a","properties":${text}}]`), scanLimits(1e6));
    const before = fieldFrom(scan, 0, 'properties');
    const own = starts[row] as (typeof starts)[number];
    const put = (index: number, value: number): void => {
      words[row * wordsPerRow + index] = value;
    };
    put(word.event, own.event);
    put(word.id, own.distinctId);
    put(word.properties, own.properties + own.text);
    put(word.propertiesBytes, own.bytes);
    for (const [field, from, to, shape] of [
      ['ownSet', word.setFrom, word.setTo, word.setShapeLow],
      ['ownSetOnce', word.onceFrom, word.onceTo, word.onceShapeLow],
    ] as const) {
      const start = fieldFrom(scan, 0, field);
      if (start < 0 || scan.json[start] !== 0x7b) continue;
      const end = fieldTo(scan, 0, field);
      put(from, own.properties + own.text + start - before);
      put(to, own.properties + own.text + end - before);
      put(shape, numberOf(shapes, shapeOf(scan.json.toString('utf8', start, end))));
    }
    const isSpecial = (flagsOf(scan, 0) & eventFlag.special) !== 0 || fieldFrom(scan, 0, 'ownUnset') >= 0;
    const effect = withoutPersonChanges.has(event) ? personEffect.none : personEffect.properties;
    personEffects[row] = isSpecial ? personEffect.other : effect;
  }
  const { uuid, event, distinctId, properties } = writer.written();
  return {
    columns: {
      rows,
      uuid,
      event,
      distinctId,
      properties,
      day: bytesOf(Int32Array.from(events, ({ micros }) => Math.floor(micros / dayMicros))),
      timestamp: bytesOf(BigInt64Array.from(events, ({ micros }) => BigInt(micros))),
    },
    words,
    micros: Float64Array.from(events, ({ micros }) => micros),
    places: Float64Array.from(events, ({ place }) => place),
    names: new Int32Array(rows),
    ids: Int32Array.from(events, ({ distinctId: id }) => numberOf(ids, id)),
    personEffects,
  };
}

/** Returns the keys, and which of them have null values. */
function shapeOf(text: string): string {
  const object = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return JSON.stringify(Object.entries(object).map(([key, value]) => [key, value === null]));
}

function numberOf(numbers: Map<string, number>, text: string): number {
  const known = numbers.get(text) ?? numbers.size;
  numbers.set(text, known);
  return known;
}

function bytesOf({ buffer }: Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(buffer);
}
