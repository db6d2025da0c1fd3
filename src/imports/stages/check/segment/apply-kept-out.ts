import type { JsonObject } from '../../../../base/json.ts';
import { createKeptOut, type KeptOut } from '../../../../wire/batch/kept-out.ts';
import type { KeptOutList } from '../../../../wire/contract/kept-out.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { RecordResult } from '../../../formats/format.ts';

/** Why an event is excluded, with the code of the warning that live events get. */
export const keptOutReason = 'an erased id is kept out (id_kept_out)';

type IsKeptOut = (event: WireEvent) => boolean;

/** Returns whether a list concerns an event, links included. */
export function keptOutTest(list: KeptOutList | undefined): IsKeptOut {
  return list === undefined ? () => false : testOf(createKeptOut(list));
}

function testOf(keptOut: KeptOut): IsKeptOut {
  // Readers take properties from parsed JSON.
  return ({ event, distinct_id: id, properties }) => keptOut.concerns(event, id, properties as JsonObject);
}

/** Excludes the events of a record that have an id which the project keeps out, links included. */
export function applyKeptOut(keptOut: KeptOut, result: RecordResult): RecordResult {
  if (result.kind !== 'events') return result;
  const isKeptOut = testOf(keptOut);
  const events = result.events.filter((event) => !isKeptOut(event));
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
