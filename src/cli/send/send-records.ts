import type { Deliver, Delivered } from './deliver.ts';
import type { RawRecord } from './open-input.ts';
import { countReason, type Totals } from './totals.ts';
import type { Converted, OutgoingEvent } from './to-events.ts';

/** A record that did not get in, for the file of rejected records. */
export interface LostRecord {
  readonly source: RawRecord;
  readonly code: string;
  readonly detail: string;
}

export interface SendDeps {
  readonly records: AsyncIterable<readonly RawRecord[]>;
  readonly convert: (source: RawRecord) => Converted;
  /** Undefined: a dry run, in which everything readable counts as accepted. */
  readonly deliver: Deliver | undefined;
  readonly totals: Totals;
  readonly batchEventsMax: number;
  readonly batchBytesMax: number;
  readonly signal: AbortSignal;
  onLost(lost: LostRecord): void;
}

/**
 * Sends every record, in order, one batch at a time. The totals are exact at every moment, also when this throws: what was
 * read and not answered for counts as unsent. Errors: whatever reading or delivering throws.
 */
export async function sendRecords(options: SendDeps): Promise<void> {
  const { totals, signal } = options;
  let batch: OutgoingEvent[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const sending = batch;
    batch = [];
    bytes = 0;
    if (sending.length > 0) await deliverBatch(sending, options);
  };
  for await (const records of options.records) {
    for (const source of records) {
      signal.throwIfAborted();
      const events = takeIn(source, options);
      totals.events += events.length;
      totals.unsent += events.length;
      for (const event of events) {
        if (batch.length >= options.batchEventsMax || bytes + event.bytes > options.batchBytesMax) await flush();
        batch.push(event);
        bytes += event.bytes + 1;
      }
    }
  }
  await flush();
}

/** The events of a record; why it has none is counted. */
function takeIn(source: RawRecord, { convert, totals, onLost }: SendDeps): readonly OutgoingEvent[] {
  totals.read += 1;
  const converted = convert(source);
  if (converted.kind === 'events') return converted.events;
  if (converted.kind === 'duplicate') totals.duplicates += 1;
  else if (converted.kind === 'skipped') {
    totals.skipped += 1;
    countReason(totals, `left out: ${converted.reason.slice(0, 80)}`);
  } else {
    totals.unreadable += 1;
    countReason(totals, `unreadable: ${converted.reason.slice(0, 80)}`);
    onLost({ source, code: 'unreadable', detail: converted.reason });
  }
  return [];
}

async function deliverBatch(batch: readonly OutgoingEvent[], { deliver, totals, onLost }: SendDeps): Promise<void> {
  const report = ({ accepted, rejected }: Delivered): void => {
    totals.accepted += accepted;
    totals.rejected += rejected.length;
    totals.unsent -= accepted + rejected.length;
    for (const { event, code, detail } of rejected) {
      countReason(totals, code);
      onLost({ source: event.source, code, detail });
    }
  };
  if (deliver === undefined) report({ accepted: batch.length, rejected: [] });
  else await deliver(batch, report);
}
