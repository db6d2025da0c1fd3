import { isObject } from '../../../base/json.ts';
import { createEventWriter, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, RecordReader, Evidence } from '../format.ts';
import { isPresentation, matomoNames, matomoNumbers, matomoTypes } from './names.ts';
import {
  personId,
  asNumber,
  firstId,
  idOf,
  kindOf,
  listOf,
  numberOf,
  type Json,
  type Properties,
} from '../read-values.ts';
import { readExample, readList, readable, type Readable, readObjects, readOptions } from '../reader-parts.ts';
import type { FoundNote } from '../record-notes.ts';
import { timeOfEpoch } from '../read-times.ts';
import { kindOfTime, zoneOption, type Zone } from '../times.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is that of the action, corrected by the first and last timestamps of its visit.',
    sources: ['https://github.com/matomo-org/matomo/issues/22720'],
  },
  zone: {
    rule: 'timestamp of an action is the wall clock of the site as if it were UTC; how far it is off follows from the visit, else from the option, else the check warns.',
    sources: ['https://github.com/matomo-org/matomo/issues/22720'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid follows from site, visit, type and pageId, else order, goal or place in the visit.',
    sources: [
      'https://github.com/matomo-org/matomo/blob/cd1b52dd2e5807d2871e6037815cae2390c5243d/plugins/Contents/tests/expected/test_Contents__Live.getLastVisitsDetails_day.xml',
    ],
  },
  links: {
    rule: 'userId is the user, visitorId the device (idvisitor of the tracker).',
    sources: ['https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php'],
  },
  counts: {
    rule: 'Matomo cuts a visit off after visitor_log_maximum_actions_per_visit actions and says how many in truncatedActionsCount: the check calls such an export incomplete.',
    sources: ['https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php'],
  },
};

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

/**
 * Matomo writes the `timestamp` of an action as the wall clock of the site taken as UTC, and the timestamps of the visit in true UTC
 * (plugins/Live/VisitorDetails.php; matomo-org/matomo#22720). How far the clock was ahead follows from comparing the two.
 */
interface SiteClock {
  /** Seconds since 1970 of each action. */
  readonly seconds: readonly number[];
  readonly notes: readonly FoundNote[];
}

/** `local`: timestamps of the actions in the order of the visit. `zone`: of the option; undefined: not given. */
function siteClock(visit: Json, local: readonly number[], zone: Zone | undefined): SiteClock {
  const [first] = local;
  const last = local.at(-1);
  if (first === undefined || last === undefined) return { seconds: local, notes: [] };
  const sample = idOf(visit['idVisit']) ?? 'unknown';
  const ahead = aheadAtEnds(visit, first, last);
  if (ahead === undefined) {
    if (zone === undefined) return { seconds: local, notes: [{ of: 'matomo_clock_unknown', sample }] };
    return { seconds: byZone(local, zone), notes: [{ of: 'matomo_clock_by_option', sample }] };
  }
  const { start, end } = ahead;
  const derived: readonly FoundNote[] =
    start === 0 && end === 0 ? [] : [{ of: 'matomo_clock_derived', sample: aheadText(start) }];
  if (start === end) return { seconds: local.map((each) => each - start), notes: derived };
  const { at, isClear } = changeAt(visit, local, ahead);
  const seconds = local.map((each, index) => each - (index < at ? start : end));
  return { seconds, notes: isClear ? derived : [...derived, { of: 'matomo_clock_change_unclear', sample }] };
}

/** By how many seconds the clock of the site is ahead of UTC at the first and at the last action. */
interface Ahead {
  readonly start: number;
  readonly end: number;
  /** The end is not that of the last action: a ping moved it, or actions are cut off. */
  readonly isLater: boolean;
}

function aheadAtEnds(visit: Json, first: number, last: number): Ahead | undefined {
  const isWhole = !((numberOf(visit['truncatedActionsCount']) ?? 0) > 0);
  const begin = numberOf(visit['firstActionTimestamp']);
  const finish = numberOf(visit['lastActionTimestamp']) ?? numberOf(visit['serverTimestamp']);
  const start = aheadBy(first, begin) ?? aheadByClock(visit['serverTimePrettyFirstAction'], begin);
  // Pings move the end of a visit, and actions that are cut off are missing at its end.
  const atLast = isWhole ? aheadBy(last, finish) : undefined;
  const end = atLast ?? aheadByClock(visit['serverTimePretty'], finish);
  const only = start ?? end;
  if (only === undefined) return undefined;
  const isChange =
    start !== undefined && end !== undefined && isClockChange(start, end, visit['serverTimePretty'], finish);
  return { start: start ?? only, end: isChange ? end : only, isLater: atLast === undefined };
}

/** Whether two differences are a change of the clocks; or the last action is not the one that the visit ends with. */
function isClockChange(start: number, end: number, shown: unknown, finish: number | undefined): boolean {
  const change = Math.abs(end - start);
  const byClock = aheadByClock(shown, finish);
  return byClock === undefined ? change === hour : change <= 2 * hour && (byClock - end) % (day / 2) === 0;
}

const hour = 3600;
const day = 24 * hour;
const toleranceSeconds = 60;
/** All that are in use are whole hours, or one of these. */
const partHours = [-9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75].map(
  (each) => each * hour,
);

/** The difference, where a time zone can have it. */
function aheadBy(local: number, utc: number | undefined): number | undefined {
  if (utc === undefined) return undefined;
  const difference = local - utc;
  const whole = Math.round(difference / hour) * hour;
  const near = [whole, ...partHours].find((each) => Math.abs(difference - each) <= toleranceSeconds);
  return near === undefined || near < -12 * hour || near > 14 * hour ? undefined : near + 0;
}

const clockPattern = /(\d{1,2}):(\d\d):(\d\d)\s*([ap])?/i;

/** By the clock that the visit shows, such as `12:00:10` or `5:00:10 PM`; without its day, what lies closest to UTC holds. */
function aheadByClock(shown: unknown, utc: number | undefined): number | undefined {
  const match = typeof shown === 'string' && utc !== undefined ? clockPattern.exec(shown) : null;
  if (match === null || utc === undefined) return undefined;
  const [, hours, minutes, seconds, half] = match;
  const shownHour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  const ofDay = shownHour * hour + Number(minutes) * 60 + Number(seconds);
  const local = utc - (((utc % day) + day) % day) + ofDay;
  const ahead = [local, local - day, local + day]
    .map((each) => aheadBy(each, utc))
    .filter((each) => each !== undefined);
  return ahead.toSorted((a, b) => Math.abs(a) - Math.abs(b))[0];
}

/**
 * The place of the first action after a change of the clocks. Actions come in the order in which they happened, and clocks change at
 * a full half hour of UTC; where that leaves more than one place, the time that Matomo counted between two actions decides.
 */
function changeAt(
  visit: Json,
  local: readonly number[],
  { start, end, isLater }: Ahead,
): { readonly at: number; readonly isClear: boolean } {
  const back = local.flatMap((each, at) => (at > 0 && each < (local[at - 1] ?? each) ? [at] : []));
  if (back.length === 1 && end < start) return { at: back[0] ?? 0, isClear: true };
  const places: number[] = [];
  for (let at = 1; at < local.length; at += 1) {
    const [before, after] = [(local[at - 1] ?? 0) - start, (local[at] ?? 0) - end];
    if (before <= after && Math.floor(after / halfHour) > Math.floor(before / halfHour)) places.push(at);
  }
  // The clocks may have changed after all of the actions.
  if (isLater) places.push(local.length);
  const spent = places.filter((at) => isTimeSpent(visit, local, at, end - start) === true);
  const unknown = places.filter((at) => isTimeSpent(visit, local, at, end - start) === undefined);
  const [at = local.length] = [spent, unknown, places].find((some) => some.length > 0) ?? places;
  return { at, isClear: places.length === 1 || spent.length === 1 };
}

const halfHour = 1800;

/** Undefined: Matomo counted none. */
function isTimeSpent(visit: Json, local: readonly number[], at: number, change: number): boolean | undefined {
  if (at >= local.length) return undefined;
  const actions: unknown = visit['actionDetails'];
  const before: unknown = Array.isArray(actions) ? actions[at - 1] : undefined;
  const spent = typeof before === 'object' && before !== null ? numberOf((before as Json)['timeSpent']) : undefined;
  return spent === undefined ? undefined : Math.abs((local[at] ?? 0) - change - (local[at - 1] ?? 0) - spent) <= 1;
}

/** An hour that comes twice is the first one, unless the order of the actions would flip. */
function byZone(local: readonly number[], zone: Zone): number[] {
  let previous = -Infinity;
  return local.map((each) => {
    const first = zone(each * 1000) / 1000;
    const second = zone((each + 3 * hour) * 1000) / 1000 - 3 * hour;
    previous = first < previous && second > first ? second : first;
    return previous;
  });
}

function aheadText(seconds: number): string {
  const minutes = Math.round(Math.abs(seconds) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${seconds < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
