import { parseExact } from '../../base/exact-json.ts';
import type { ScannedBatch } from '../../wire/batch/scanned-batch.ts';
import type { EventDraft, RecordContext } from '../event-draft.ts';
import { state, type OpenRecord } from '../open-record.ts';
import { readEvent } from '../read-event.ts';
import type { StepDeps } from '../step.ts';

/** Reads events that have not been spliced. */
export function readEvents({ chains }: Pick<StepDeps, 'chains'>) {
  return ({ states, drafts, context, scan }: OpenRecord, index: number): void => {
    const isForChain = chains.has(context.projectId) && context.rowsStored === undefined;
    drafts.push(isForChain ? readForChain(context, scan, index) : readExactly(context, scan, index));
    states[index] = state.draft;
  };
}

/** Keeps numbers of every size as they were sent. */
function readExactly(context: RecordContext, scan: ScannedBatch, index: number): EventDraft {
  return readEvent(context, scan, index, parseExact);
}

/**
 * Reads an event for a chain of transformations, which calculates with ordinary numbers and may need the text only: the properties
 * stay `unread` unless something in them matters before.
 */
function readForChain(context: RecordContext, scan: ScannedBatch, index: number): EventDraft {
  return readEvent(context, scan, index, JSON.parse, true);
}
