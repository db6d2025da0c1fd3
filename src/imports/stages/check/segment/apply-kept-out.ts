import type { JsonObject } from '../../../../base/json.ts';
import type { KeptOut } from '../../../../wire/batch/kept-out.ts';
import type { RecordResult } from '../../../formats/format.ts';

/** Why an event is excluded. */
export const keptOutReason = 'an erased id is kept out';

/** Excludes the events of a record that have an id which the project keeps out, links included. */
export function applyKeptOut(keptOut: KeptOut, result: RecordResult): RecordResult {
  if (result.kind !== 'events') return result;
  // Readers take properties from parsed JSON.
  const events = result.events.filter(
    ({ event, distinct_id: id, properties }) => !keptOut.concerns(event, id, properties as JsonObject),
  );
  const removed = result.events.length - events.length;
  const leftOut = [...(result.chosen?.leftOut ?? []), ...Array<string>(removed).fill(keptOutReason)];
  const { unusual, notes } = result;
  const found = {
    chosen: { read: result.chosen?.read ?? result.events.length, leftOut },
    ...(unusual && { unusual }),
    ...(notes && { notes }),
  };
  return events.length === 0
    ? { kind: 'skipped', reason: keptOutReason, ...found }
    : { kind: 'events', events, ...found };
}
