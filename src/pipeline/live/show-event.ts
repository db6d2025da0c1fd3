import { strictJson } from '../../base/strict-json.ts';
import { livePropertiesBytesMax, type LiveStage } from '../../wire/contract/live-events.ts';

/** State of an event at one moment. */
export interface Snapshot {
  readonly uuid: string | null;
  readonly event: string;
  readonly distinctId: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string | null;
  /** JSON text of an object; null: not readable. */
  readonly propertiesText: string | null;
}

/** Result of a transformation for an event. */
export interface StepTrace {
  readonly configId: number;
  readonly label: string;
  readonly outcome: 'succeeded' | 'failed' | 'dropped' | 'skipped';
  /** Without secrets. */
  readonly error: string | null;
  /** Null: dropped here. */
  readonly after: Snapshot | null;
}

/** Path of an event through the transformations. */
export interface Trace {
  readonly before: Snapshot;
  readonly steps: readonly StepTrace[];
}

export interface Shown extends Snapshot {
  readonly stage: LiveStage;
  /** ISO 8601 UTC, like receivedAt. */
  readonly at: string;
  readonly receivedAt: string;
  readonly historical: boolean;
  readonly end?: {
    readonly reason: string;
    readonly detail: string;
    readonly deadLetter: string | null;
  };
  readonly trace?: Trace | undefined;
}

/**
 * Formats the data of an `event` message: JSON in one line. Properties are copied as text, so that numbers keep every digit.
 */
export function showEvent(shown: Shown): string {
  const { stage, at, receivedAt: received_at, historical: historical_migration, end, trace } = shown;
  const head = { stage, at, received_at, historical_migration };
  const last = { reason: end?.reason ?? null, detail: end?.detail ?? null, dead_letter: end?.deadLetter ?? null };
  const before = trace === undefined ? 'null' : showSnapshot(trace.before);
  const steps = trace === undefined ? 'null' : `[${trace.steps.map((step) => showStep(step)).join(',')}]`;
  return strictJson(
    `${JSON.stringify(head).slice(0, -1)},${showSnapshot(shown).slice(1, -1)},` +
      `${JSON.stringify(last).slice(1, -1)},"before":${before},"steps":${steps}}`,
  );
}

function showStep({ configId, label, outcome, error, after }: StepTrace): string {
  const head = JSON.stringify({ config_id: configId, label, outcome, error });
  return `${head.slice(0, -1)},"after":${after === null ? 'null' : showSnapshot(after)}}`;
}

function showSnapshot({ uuid, event, distinctId, timestamp, propertiesText }: Snapshot): string {
  const head = JSON.stringify({ uuid, event, distinct_id: distinctId, timestamp });
  return `${head.slice(0, -1)},"properties":${showProperties(propertiesText)}}`;
}

/** Replaces line breaks between members, which would end the message. */
function showProperties(text: string | null): string {
  if (text === null || Buffer.byteLength(text) > livePropertiesBytesMax) return 'null';
  return text.replaceAll(/[\r\n]/g, ' ');
}
