import { isObject } from '../../../base/json.ts';
import { createEventWriter, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, RecordReader } from '../format.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { isPresentation, matomoNames, matomoNumbers, matomoTypes } from './names.ts';
import { personId } from '../person-id.ts';
import { readExample } from '../read-example.ts';
import { readList, readable, type Readable } from '../read-list.ts';
import { readObjects } from '../read-objects.ts';
import type { FoundNote } from '../record-notes.ts';
import { readOptions } from '../read-options.ts';
import { timeOfEpoch } from '../read-times.ts';
import { kindOfTime, type Zone, zoneOption } from '../times.ts';
import { asNumber, firstId, idOf, kindOf, listOf, numberOf, type Json, type Properties } from '../read-values.ts';
import { siteClock, type SiteClock } from './site-clock.ts';

const slug = 'matomo';

export const matomo: Format = {
  slug,
  name: 'Matomo',
  description:
    'Visits with their actions: one event per action, with what is known of the visit. A page view is ' +
    '`$pageview`, an event is called as its action, any other kind (search, outlink, download, ecommerceOrder …) ' +
    'by its type; goals are left out by the table of names, because the action that reached them is there. ' +
    'distinct_id is the userId, else the visitorId. The timestamp of an action is the wall clock of the site; ' +
    'it becomes UTC by the first and last timestamps of its visit, which are UTC, also where the clocks change during ' +
    'the visit. The uuid follows from site, visit, type and pageId (else order, goal or place ' +
    'in the visit). A visit in which one action cannot be read is refused as a whole.',
  source: 'The answers of the method Live.getLastVisitsDetails as JSON, visit by visit.',
  options: [
    {
      key: 'time_zone',
      description:
        'Time zone of the site, such as Europe/Berlin, for visits that do not say how far its clock is from UTC. ' +
        'Without it they are taken as UTC, which the check reports',
      default: '',
    },
  ],
  evidence,
  names: matomoNames,
  example: readExample(example),
  createReader: (given, names, memory) => {
    const { time_zone: zone = '' } = readOptions(slug, matomo.options, given);
    return createReader(
      createEventWriter(slug, names, memory),
      zone === '' ? undefined : zoneOption('time_zone', zone),
    );
  },
};

interface Visit {
  readonly visit: Json;
  readonly user: string | undefined;
  readonly device: string | undefined;
  readonly distinctId: string;
  readonly shared: Properties;
  /** ISO 8601 of each action; undefined: its timestamp is none. */
  readonly times: readonly (string | undefined)[];
}

function createReader(writer: EventWriter, zone: Zone | undefined): RecordReader {
  return readObjects((visit) => {
    const { actionDetails } = visit;
    if (!Array.isArray(actionDetails)) {
      return unreadable(
        `expected a visit of Live.getLastVisitsDetails with actionDetails as a list, got ${kindOf(actionDetails)}`,
      );
    }
    const user = personId(visit['userId']);
    const device = personId(visit['visitorId']);
    const distinctId = user ?? device;
    if (distinctId === undefined) return unreadable('expected userId or visitorId, got neither');
    const { times, notes } = timesOf(visit, actionDetails, zone);
    const parts: Visit = { visit, user, device, distinctId, times, shared: sharedOf(writer, visit) };
    const result = readList(listOf(actionDetails), 'actionDetails', 'a visit without actions', (action, index) =>
      readAction(writer, parts, action, index),
    );
    const found = result.kind === 'events' ? [...truncation(visit), ...notes] : truncation(visit);
    return found.length === 0 ? result : { ...result, notes: found };
  });
}

/** Actions without a time of their own are refused with it; they have no part in the others'. */
function timesOf(
  visit: Json,
  actions: readonly unknown[],
  zone: Zone | undefined,
): Pick<Visit, 'times'> & Pick<SiteClock, 'notes'> {
  const local = actions.map((action) => (isObject(action) ? secondsOf(action['timestamp']) : undefined));
  const known = local.filter((each) => each !== undefined);
  const { seconds, notes } = siteClock(visit, known, zone);
  let next = 0;
  const times = local.map((each) => (each === undefined ? undefined : timeOfEpoch(seconds[next++], 's')));
  return { times, notes };
}

function secondsOf(value: unknown): number | undefined {
  return timeOfEpoch(value, 's') === undefined ? undefined : numberOf(value);
}

/** What Matomo says that it has cut off. */
function truncation(visit: Json): readonly FoundNote[] {
  const amount = numberOf(visit['truncatedActionsCount']) ?? 0;
  if (!(amount > 0)) return [];
  return [{ of: 'matomo_actions_truncated', amount, sample: idOf(visit['idVisit']) ?? 'unknown' }];
}

function readAction(writer: EventWriter, parts: Visit, action: Json, index: number): Readable {
  const written = idOf(action['type']);
  if (written === undefined) return unreadable(`expected type, got ${kindOf(action['type'])}`);
  const type = Object.hasOwn(matomoTypes, written) ? (matomoTypes[written] ?? written) : written;
  const sourceName = type === 'event' ? (firstId(action['eventAction'], action['eventName']) ?? type) : type;
  const timestamp = parts.times[index];
  if (timestamp === undefined) {
    return unreadable(`expected timestamp in seconds since 1970, got ${kindOfTime(action['timestamp'])}`);
  }
  // An event whose action is called like a type of action is none.
  const isOwnName = type === 'event' && Object.hasOwn(matomoNames.events, sourceName);
  const event = isOwnName ? sourceName : writer.eventName(sourceName);
  if (event === null) return leftOut(sourceName);
  return readable(() => {
    const { user, device, distinctId, shared } = parts;
    const properties: Properties = { ...shared };
    putMembers(writer, properties, action, aboutAction);
    const uuid = uuidOf(writer, parts, action, type, index);
    const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
    return [...identify, writer.event(uuid, event, distinctId, timestamp, properties)];
  });
}

const aboutAction: ReadonlySet<string> = new Set(['timestamp', 'type']);
const aboutVisit: ReadonlySet<string> = new Set(['actionDetails', 'resolution']);

function sharedOf(writer: EventWriter, visit: Json): Properties {
  const properties: Properties = {};
  putMembers(writer, properties, visit, aboutVisit);
  const { resolution } = visit;
  const size = typeof resolution === 'string' ? sizePattern.exec(resolution) : null;
  if (size === null) writer.put(properties, 'resolution', resolution);
  else {
    writer.put(properties, 'resolution_width', Number(size[1]));
    writer.put(properties, 'resolution_height', Number(size[2]));
  }
  return properties;
}
const sizePattern = /^(\d{1,5})x(\d{1,5})$/;

function putMembers(writer: EventWriter, target: Properties, source: Json, apart: ReadonlySet<string>): void {
  for (const member of Object.keys(source)) {
    if (apart.has(member) || isPresentation(member)) continue;
    const value = source[member];
    if (member === 'customVariables') putVariables(writer, target, value);
    else if (!isEmptyList(value)) writer.put(target, member, matomoNumbers.has(member) ? asNumber(value) : value);
  }
}

/** PHP writes an object without members as an empty list. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** `{"1": {customVariableName1, customVariableValue1}}` by the names that the customer gave them. */
function putVariables(writer: EventWriter, target: Properties, value: unknown): void {
  if (isEmptyList(value)) return;
  const variables = isObject(value) ? Object.entries(value) : [];
  const read = variables.map(([slot, each]) => {
    const name = isObject(each)
      ? (each[`customVariableName${slot}`] ?? each[`customVariablePageName${slot}`])
      : undefined;
    const content = isObject(each)
      ? (each[`customVariableValue${slot}`] ?? each[`customVariablePageValue${slot}`])
      : null;
    return [idOf(name), content] as const;
  });
  if (read.length === 0 || read.some(([name]) => name === undefined)) writer.put(target, 'customVariables', value);
  else for (const [name, content] of read) if (name !== undefined) writer.put(target, name, content);
}

function uuidOf(writer: EventWriter, { visit, distinctId }: Visit, action: Json, type: string, index: number): string {
  const site = idOf(visit['idSite']) ?? '';
  const visitId = idOf(visit['idVisit']);
  if (visitId === undefined) return writer.contentId([distinctId, action]);
  const id = firstId(action['pageId'], action['orderId'], action['goalPageId']);
  return writer.id('action', site, visitId, type, id ?? `place ${index}`);
}
