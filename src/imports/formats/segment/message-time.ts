import type { Json } from '../read-values.ts';
import { textTime } from '../times.ts';
import { textOf } from './message-values.ts';

export interface MessageTime {
  readonly text: string;
  /** By how many ms the clock of the sender was put right; 0: it was not, or there was nothing to put right. */
  readonly correctedMs: number;
}

export const timeFields = ['timestamp', 'originalTimestamp', 'receivedAt', 'sentAt'] as const;

/**
 * `timestamp` is right as it stands: Segment and RudderStack have corrected it. What has not passed through them (dumps of a gateway)
 * lacks it, and is corrected in the same way: receivedAt - (sentAt - originalTimestamp). Undefined: the message has no time.
 */
export function timeOfMessage(message: Json): MessageTime | undefined {
  const timestamp = textOf(message['timestamp']);
  if (timestamp !== undefined) return { text: timestamp, correctedMs: 0 };
  const original = textOf(message['originalTimestamp']);
  const received = textOf(message['receivedAt']);
  const text = original ?? received ?? textOf(message['sentAt']);
  if (text === undefined) return undefined;
  const skewMs = skewOf(message['sentAt'], received);
  const ms = original === undefined || skewMs === undefined ? Number.NaN : msOf(original) + skewMs;
  if (Number.isNaN(ms) || skewMs === undefined) return { text, correctedMs: 0 };
  return { text: new Date(ms).toISOString(), correctedMs: skewMs };
}

/** How far the clock of the sender was behind. */
function skewOf(sent: unknown, received: string | undefined): number | undefined {
  const ms = msOf(received) - msOf(textOf(sent));
  return Number.isNaN(ms) ? undefined : ms;
}

function msOf(text: string | undefined): number {
  const time = textTime(text);
  return time === undefined ? Number.NaN : Date.parse(time);
}
