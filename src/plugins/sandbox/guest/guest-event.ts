import type { EventsHead, HeadEvent } from '../wire/events-text.ts';
import { DateType, indexOfText, parse, sliceText, stringify, toIso } from './intrinsics.ts';

/** One event of a request, as received. */
export interface Given {
  readonly head: HeadEvent;
  readonly text: string;
  /** Null if none are written. */
  readonly stamp: Stamp | null;
  /** `$ip` as received. */
  ip: string | null;
}

/** The markers of an event before and after, and their form in its text. */
interface Stamp {
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
  readonly before: string;
  readonly after: string;
  readonly failedText: string;
  /** The end of the text if it contained no markers. */
  readonly ending: string;
}

/** The event that the plugin receives and may change freely. */
export type GuestEvent = Record<string, unknown> & { readonly properties: Record<string, unknown> };

export function decodeEvents(text: string, label: string): Given[] {
  const headEnd = indexOfText(text, '\n');
  const { markers, events } = parse(sliceText(text, 0, headEnd)) as EventsHead;
  const stamps: Stamp[] = [];
  for (let i = 0; i < markers.length; i++) stamps[i] = stampOf(markers[i] ?? [[], []], label);
  const given: Given[] = [];
  let at = headEnd + 1;
  for (let i = 0; i < events.length; i++) {
    const head = events[i];
    if (head === undefined) break;
    const from = at;
    at += head[7];
    given[i] = { head, text: sliceText(text, from, at), stamp: stamps[head[6]] ?? null, ip: null };
  }
  return given;
}

function stampOf([succeeded, failed]: EventsHead['markers'][number], label: string): Stamp {
  const all = [...succeeded, label];
  const before = `"$plugins_succeeded":${stringify(succeeded)}`;
  const after = `"$plugins_succeeded":${stringify(all)}`;
  const failedText = `"$plugins_failed":${stringify(failed)}`;
  return { succeeded, failed, before, after, failedText, ending: `,${after},${failedText}}` };
}

export function buildEvent(given: Given): GuestEvent {
  const { head, text, stamp } = given;
  const properties = parse(text) as Record<string, unknown>;
  if (stamp !== null) {
    properties['$plugins_succeeded'] = [...stamp.succeeded];
    properties['$plugins_failed'] = [...stamp.failed];
  }
  given.ip = ipOf(properties);
  return {
    distinct_id: head[2],
    ip: given.ip,
    site_url: '',
    team_id: head[3],
    now: isoOf(head[5]),
    event: head[1],
    uuid: head[0],
    timestamp: head[4],
    properties,
  };
}

let lastMs = Number.NaN;
let lastIso = '';

/** Consecutive events mostly arrived at the same time. */
function isoOf(ms: number): string {
  if (ms !== lastMs) {
    lastIso = toIso(new DateType(ms));
    lastMs = ms;
  }
  return lastIso;
}

/** Adds the person properties next to the properties, where onEvent and exportEvents also expect them. */
export function withPersonProperties(event: GuestEvent): GuestEvent {
  const { $set, $set_once } = event.properties;
  return Object.assign(event, $set === undefined ? {} : { $set }, $set_once === undefined ? {} : { $set_once });
}

export function ipOf(properties: Record<string, unknown>): string | null {
  const ip = properties['$ip'];
  return typeof ip === 'string' && ip !== '' ? ip : null;
}

/** Whether a final text equals the received one except for the label appended to the succeeded ones. */
export function isAsItCame(final: string, { text, stamp }: Given): boolean {
  if (stamp === null) return final === text;
  const { before, after, failedText, ending } = stamp;
  if (final.length === text.length - 1 + ending.length && indexOfText(text, '"$plugins_') < 0) {
    return final === sliceText(text, 0, text.length - 1) + ending;
  }
  if (text === '{}') return final === `{${sliceText(ending, 1)}`;
  if (final.length !== text.length - before.length + after.length) return false;
  const at = indexOfText(text, before);
  if (at < 0 || indexOfText(text, failedText) < 0) return false;
  return final === sliceText(text, 0, at) + after + sliceText(text, at + before.length);
}

/** A longer text must differ from the received one. */
export function lengthAsItCame({ text, stamp }: Given): number {
  return stamp === null ? text.length : text.length + stamp.ending.length;
}
