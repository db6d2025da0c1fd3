import { isObject } from '../../../base/json.ts';
import { isPlaceholderId } from '../../../base/placeholder-ids.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';
import { namespaceOf } from '../derived-uuids.ts';
import { skippedByName, skipped, unreadable, type NoEvents } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { memberAt, objectOf, type Json, type Properties } from '../read-values.ts';
import { namesOf, rename } from '../names.ts';
import type { IdCounter } from '../occurrences.ts';
import { note } from '../read-by-map.ts';
import type { Draft, Hook, Identity, Members, RecordMap, TimeRule } from '../record-map.ts';
import { kindOfTimes, utc, textTime } from '../times.ts';
import { exactNumber } from '../../../base/exact-json.ts';

export interface SegmentParts {
  readonly names: NameTable;
  /** Whether a repeated messageId is skipped rather than kept under a separate id. */
  readonly dropsRepeated: boolean;
  readonly messages: IdCounter;
  /** Counts messages without an id. */
  readonly contents: IdCounter;
}

/** Reason for messages skipped by `duplicates: drop`. */
export const repeatedMessage = 'a repeated messageId';

const unchanged = namesOf({});
const blank = [null, ''];
const page = { path: 'type', is: 'page' };
const screen = { path: 'type', is: 'screen' };

/** Maps messages. */
export function segmentMap({ names, dropsRepeated, messages, contents }: SegmentParts): RecordMap {
  const repeated = dropsRepeated ? { repeated: skipped(repeatedMessage) } : {};
  const isRenamed = Object.values(names).some((part) => Object.keys(part as object).length > 0);
  return {
    source: undefined,
    event: { from: ['type', 'event'], read: nameOf, named: (name) => name },
    time,
    ids: {
      from: ['userId', 'anonymousId'],
      read: identityOf,
      add: (properties, { device }) => {
        if (device !== undefined) properties['$anon_distinct_id'] = device;
      },
    },
    uuid: {
      is: 'name',
      path: 'messageId',
      namespace: namespaceOf('segment'),
      idOf: textOf,
      occurrences: messages,
      ...repeated,
      otherwise: {
        is: 'content',
        namespace: namespaceOf('segment-content'),
        occurrences: contents,
        textOf: (message) => JSON.stringify(message),
        ...repeated,
      },
    },
    order: ['event', targetFault, 'ids', 'time', 'names'],
    properties: [
      { members: contextPaths, nothing: [null] },
      {
        of: 'members',
        from: ['context.page.url'],
        isVaried: true,
        add: (message, properties) => put(properties, '$host', hostOf(pageUrl(message))),
      },
      {
        of: 'members',
        from: ['context.ip', 'request_ip'],
        isVaried: true,
        add: (message, properties) =>
          put(properties, '$ip', textOf(contextIp(message)) ?? textOf(message['request_ip'])),
      },
      'ids',
      identities,
      '$set',
      { members: { category: 'category', name: 'name' }, only: page, nothing: blank, takes: isGiven },
      { members: { category: 'category' }, only: screen, nothing: blank, takes: isGiven },
      screenName,
      { bag: 'properties', names: unchanged, taken: 'replaces' },
    ],
    person: [
      { bag: 'context.traits', into: '$set', names: unchanged, taken: 'replaces' },
      { bag: 'traits', into: '$set', names: unchanged, taken: 'replaces' },
    ],
    isNormalised: true,
    ...(isRenamed && { finish: translator(names) }),
    ...(!dropsRepeated && { usual: { ignores } }),
  };
}

/** Members about the message rather than the event, and times that replace a missing `timestamp`. */
const ignores: ReadonlySet<string> = new Set(
  '_metadata channel groupId integrations originalTimestamp previousId projectId receivedAt sentAt version writeKey'.split(
    ' ',
  ),
);

function nameOf({ type, event }: Json): string | NoEvents {
  switch (type) {
    case 'track':
      return textOf(event) ?? unreadable('expected the name of the event in "event"');
    case 'page':
      return '$pageview';
    case 'screen':
      return '$screen';
    case 'identify':
      return '$identify';
    case 'alias':
      return '$create_alias';
    case 'group':
      return '$groupidentify';
    default:
      return unreadable(`expected type track, identify, page, screen, group or alias, got: ${JSON.stringify(type)}`);
  }
}

function targetFault({ record: { type, previousId, groupId } }: Draft): NoEvents | undefined {
  if (type === 'alias' && textOf(previousId) === undefined) return unreadable('expected previousId');
  return type === 'group' && textOf(groupId) === undefined ? unreadable('expected groupId') : undefined;
}

function identityOf({ userId, anonymousId }: Json): Identity | NoEvents {
  const ids = messageIds(userId, anonymousId);
  if (ids === undefined) return unreadable('expected userId or anonymousId');
  return { distinctId: ids.distinctId, device: ids.anonymousId };
}

/** Smaller differences are network latency. */
const skewNotedMs = 60_000;

const time: TimeRule = {
  form: { path: 'timestamp', zone: utc, isKept: true },
  from: ['timestamp'],
  read: ({ timestamp }) => textOf(timestamp),
  otherwise: (draft) => {
    const found = timeOfMessage(draft.record);
    if (found === undefined) return unreadable(`expected a timestamp, got ${kindOfTimes(draft.record, timeFields)}`);
    if (Math.abs(found.correctedMs) >= skewNotedMs) note(draft, { of: 'segment_clock_corrected', sample: found.text });
    return found.text;
  },
};

const pageUrl = memberAt('context.page.url');
const contextIp = memberAt('context.ip');
const contextTraits = memberAt('context.traits');

function put(properties: Properties, name: string, value: string | undefined): void {
  if (value !== undefined) properties[name] = value;
}

function isGiven(value: unknown): boolean {
  return textOf(value) !== undefined;
}

const screenName: Members = {
  members: { $screen_name: 'name' },
  only: screen,
  nothing: blank,
  takes: (value) => typeof value === 'string' && isGiven(value),
  otherwise: ({ name, properties }) => textOf(name) ?? textOf(objectOf(properties)['name']),
};

/** Messages about a person or a group have no other properties. */
const identities: Hook = {
  from: ['type'],
  isIdle: ({ type }) => type === 'track' || type === 'page' || type === 'screen',
  run: ({ record, properties }) => {
    // The traits of the context always belong to the person.
    const ofPerson = objectOf(contextTraits(record));
    const traits = objectOf(record['traits']);
    if (record['type'] === 'identify') properties['$set'] = { ...ofPerson, ...traits };
    else if (Object.keys(ofPerson).length > 0) properties['$set'] = { ...ofPerson };
    if (record['type'] === 'group') addGroup(textOf(record['groupId']) ?? '', traits, properties);
    const alias = record['type'] === 'alias' ? textOf(record['previousId']) : undefined;
    if (alias !== undefined && !isPlaceholderId(alias)) properties['alias'] = alias;
    return true;
  },
};

/** Sets the group type to the trait `groupType`; sources without it have a single type, called `group`. */
function addGroup(key: string, { groupType, ...traits }: Json, properties: Properties): void {
  const type = textOf(groupType) ?? 'group';
  Object.assign(properties, { $group_type: type, $group_key: key, $group_set: traits, $groups: { [type]: key } });
}

/** Applies the name table to the finished event. */
function translator(names: NameTable): (event: WireEvent) => WireEvent | NoEvents {
  const events = namesOf(names.events);
  const properties = namesOf(names.properties);
  const person = namesOf(names.person_properties);
  return (event) => {
    const name = events.get(event.event);
    if (name === null) return skippedByName(event.event);
    const translated: Properties = {};
    rename(event.properties, properties, translated);
    if (isObject(translated['$set'])) {
      const set: Properties = {};
      rename(translated['$set'], person, set);
      translated['$set'] = set;
    }
    return { ...event, event: name ?? event.event, properties: translated };
  };
}

/** The ids of a message. */
interface MessageIds {
  readonly distinctId: string;
  /** The user's anonymous id on the same device, if it differs. */
  readonly anonymousId: string | undefined;
}

/** Returns `userId`, else `anonymousId`; a placeholder only if there is no other id. `undefined` if there is no id. */
function messageIds(userId: unknown, anonymousId: unknown): MessageIds | undefined {
  const given = [textOf(userId), textOf(anonymousId)] as const;
  const [user, anonymous] = given.map((id) => (id === undefined || isPlaceholderId(id) ? undefined : id));
  const distinctId = user ?? anonymous ?? given[0] ?? given[1];
  if (distinctId === undefined) return undefined;
  return { distinctId, anonymousId: user !== undefined && anonymous !== user ? anonymous : undefined };
}

interface MessageTime {
  readonly text: string;
  /** Milliseconds by which the sender's clock was corrected; 0 if it was not. */
  readonly correctedMs: number;
}

const timeFields = ['timestamp', 'originalTimestamp', 'receivedAt', 'sentAt'] as const;

/**
 * Returns the time of a message. Segment and RudderStack have already corrected `timestamp`. Messages that did not pass through
 * them (dumps of a gateway) lack it and get the same correction: receivedAt - (sentAt - originalTimestamp). `undefined` if the
 * message has no time.
 */
function timeOfMessage(message: Json): MessageTime | undefined {
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

/** Returns by how many ms the sender's clock was behind. */
function skewOf(sent: unknown, received: string | undefined): number | undefined {
  const ms = msOf(received) - msOf(textOf(sent));
  return Number.isNaN(ms) ? undefined : ms;
}

function msOf(text: string | undefined): number {
  const time = textTime(text);
  return time === undefined ? Number.NaN : Date.parse(time);
}

/** Returns a text that is not blank, or a number as text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? (value.trim() === '' ? undefined : value) : exactNumber(value);
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host || undefined : undefined;
}

/** Property ← path in the message. The event's own properties take precedence. */
export const contextPaths: Readonly<Record<string, string>> = {
  $app_build: 'context.app.build',
  $app_name: 'context.app.name',
  $app_namespace: 'context.app.namespace',
  $app_version: 'context.app.version',
  $current_url: 'context.page.url',
  $device_id: 'context.device.id',
  $device_manufacturer: 'context.device.manufacturer',
  $device_model: 'context.device.model',
  $device_name: 'context.device.name',
  $device_type: 'context.device.type',
  $lib: 'context.library.name',
  $lib_version: 'context.library.version',
  $locale: 'context.locale',
  $network_carrier: 'context.network.carrier',
  $os: 'context.os.name',
  $os_version: 'context.os.version',
  $pathname: 'context.page.path',
  $referrer: 'context.page.referrer',
  $screen_density: 'context.screen.density',
  $screen_height: 'context.screen.height',
  $screen_width: 'context.screen.width',
  $timezone: 'context.timezone',
  $useragent: 'context.userAgent',
  title: 'context.page.title',
  utm_campaign: 'context.campaign.name',
  utm_content: 'context.campaign.content',
  utm_medium: 'context.campaign.medium',
  utm_source: 'context.campaign.source',
  utm_term: 'context.campaign.term',
};
