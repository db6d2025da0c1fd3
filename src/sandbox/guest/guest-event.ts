import type { EventsHead, HeadEvent } from '../wire/events-text.ts';
import { DateType, indexOfText, parse, sliceText, stringify, toIso } from './intrinsics.ts';

/** One event of a request, as it came. */
export interface Given {
  readonly head: HeadEvent;
  readonly text: string;
  readonly markers: readonly [succeeded: readonly string[], failed: readonly string[]] | null;
  /** `$ip` as it came. */
  ip: string | null;
}

/** As the plugin gets it; what it does to it is its own business. */
export type GuestEvent = Record<string, unknown> & { readonly properties: Record<string, unknown> };

export function decodeEvents(text: string): Given[] {
  const headEnd = indexOfText(text, '\n');
  const head = parse(sliceText(text, 0, headEnd)) as EventsHead;
  let at = headEnd + 1;
  return head.events.map((each) => {
    const from = at;
    at += each[7];
    return { head: each, text: sliceText(text, from, at), markers: head.markers[each[6]] ?? null, ip: null };
  });
}

export function buildEvent(given: Given): GuestEvent {
  const { head, text, markers } = given;
  const properties = parse(text) as Record<string, unknown>;
  if (markers !== null) {
    properties['$plugins_succeeded'] = [...markers[0]];
    properties['$plugins_failed'] = [...markers[1]];
  }
  given.ip = ipOf(properties);
  return {
    distinct_id: head[2],
    ip: given.ip,
    site_url: '',
    team_id: head[3],
    now: toIso(new DateType(head[5])),
    event: head[1],
    uuid: head[0],
    timestamp: head[4],
    properties,
  };
}

/** For onEvent and exportEvents, which look for them beside the properties too. */
export function withPersonProperties(event: GuestEvent): GuestEvent {
  const { $set, $set_once } = event.properties;
  return Object.assign(event, $set === undefined ? {} : { $set }, $set_once === undefined ? {} : { $set_once });
}

export function ipOf(properties: Record<string, unknown>): string | null {
  const ip = properties['$ip'];
  return typeof ip === 'string' && ip !== '' ? ip : null;
}

/**
 * The text that the properties have when nothing happened but that the label was appended to the succeeded ones. Undefined:
 * cannot be told from the text.
 */
export function untouchedText({ text, markers }: Given, label: string): string | undefined {
  if (markers === null) return text;
  const succeeded = stringify([...markers[0], label]);
  const failed = stringify(markers[1]);
  const key = '"$plugins_succeeded":';
  const before = indexOfText(text, '"$plugins_') < 0 ? -1 : indexOfText(text, key);
  if (before < 0) {
    if (indexOfText(text, '"$plugins_') >= 0) return undefined;
    const comma = text === '{}' ? '' : ',';
    return `${sliceText(text, 0, text.length - 1)}${comma}${key}${succeeded},"$plugins_failed":${failed}}`;
  }
  const old = key + stringify(markers[0]);
  if (indexOfText(text, old, before) !== before || indexOfText(text, `"$plugins_failed":${failed}`) < 0)
    return undefined;
  return sliceText(text, 0, before) + key + succeeded + sliceText(text, before + old.length);
}
