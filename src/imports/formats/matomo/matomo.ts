import { isObject } from '../../../base/json.ts';
import { createEventWriter, skippedByName, unreadable, type EventWriter } from '../event-writer.ts';
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
    rule: 'The timestamp of an action is the wall clock of the site written as if it were UTC. The offset is derived from the visit, else from the option, else the check warns.',
    sources: ['https://github.com/matomo-org/matomo/issues/22720'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid is derived from site, visit, type and pageId, else order, goal or position in the visit.',
    sources: [
      'https://github.com/matomo-org/matomo/blob/cd1b52dd2e5807d2871e6037815cae2390c5243d/plugins/Contents/tests/expected/test_Contents__Live.getLastVisitsDetails_day.xml',
    ],
  },
  links: {
    rule: 'userId is the user, visitorId the device (idvisitor of the tracker).',
    sources: ['https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php'],
  },
  counts: {
    rule: 'Matomo truncates a visit after visitor_log_maximum_actions_per_visit actions and reports the number in truncatedActionsCount: the check reports such an export as incomplete.',
    sources: ['https://github.com/matomo-org/matomo/blob/5.x-dev/plugins/Live/Visitor.php'],
  },
};

const slug = 'matomo';

export const matomo: Format = {
  slug,
  name: 'Matomo',
  description:
    'Visits with their actions: one event per action, with the properties of the visit. A page view is ' +
    '`$pageview`, an event has the name of its action, any other kind (search, outlink, download, ecommerceOrder …) ' +
    'that of its type; the name table skips goals, because the action that reached them is imported. ' +
    'distinct_id is the userId, else the visitorId. The timestamp of an action is the wall clock of the site; ' +
    'it is converted to UTC by the first and last timestamps of its visit, which are UTC, even if the clocks change during ' +
    'the visit. The uuid is derived from site, visit, type and pageId (else order, goal or position ' +
    'in the visit). A visit with one unreadable action is rejected as a whole.',
  source: 'Responses of the method Live.getLastVisitsDetails as JSON, one record per visit.',
  options: [
    {
      key: 'time_zone',
      label: 'Time zone',
      description:
        'Time zone of the site, such as Europe/Berlin, for visits that do not reveal the offset of its clock from UTC. ' +
        'By default they are read as UTC, which the check reports',
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
  /** ISO 8601 for each action; `undefined` for an invalid timestamp. */
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

/** Actions without a time are rejected and do not affect the times of the others. */
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

/** Notes the actions that Matomo reports as truncated. */
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
  // An event whose action is named like an action type is not of that type.
  const isOwnName = type === 'event' && Object.hasOwn(matomoNames.events, sourceName);
  const event = isOwnName ? sourceName : writer.eventName(sourceName);
  if (event === null) return skippedByName(sourceName);
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

/** PHP writes an empty object as an empty list. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Writes `{"1": {customVariableName1, customVariableValue1}}` under the names that the customer chose. */
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
 * Times of the actions in UTC. Matomo writes the `timestamp` of an action as the wall clock of the site as if it were UTC, and
 * the timestamps of the visit in true UTC (plugins/Live/VisitorDetails.php; matomo-org/matomo#22720). Comparing the two gives the
 * offset of the clock.
 */
interface SiteClock {
  /** Seconds since 1970 of each action. */
  readonly seconds: readonly number[];
  readonly notes: readonly FoundNote[];
}

/** `local`: timestamps of the actions in order. `zone`: from the option, if set. */
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

/** Seconds by which the clock of the site is ahead of UTC at the first and at the last action. */
interface Ahead {
  readonly start: number;
  readonly end: number;
  /** The end of the visit is later than the last action: a ping moved it, or actions are truncated. */
  readonly isLater: boolean;
}

function aheadAtEnds(visit: Json, first: number, last: number): Ahead | undefined {
  const isWhole = !((numberOf(visit['truncatedActionsCount']) ?? 0) > 0);
  const begin = numberOf(visit['firstActionTimestamp']);
  const finish = numberOf(visit['lastActionTimestamp']) ?? numberOf(visit['serverTimestamp']);
  const start = aheadBy(first, begin) ?? aheadByClock(visit['serverTimePrettyFirstAction'], begin);
  // Pings move the end of a visit, and truncated actions are missing at its end.
  const atLast = isWhole ? aheadBy(last, finish) : undefined;
  const end = atLast ?? aheadByClock(visit['serverTimePretty'], finish);
  const only = start ?? end;
  if (only === undefined) return undefined;
  const isChange =
    start !== undefined && end !== undefined && isClockChange(start, end, visit['serverTimePretty'], finish);
  return { start: start ?? only, end: isChange ? end : only, isLater: atLast === undefined };
}

/** Whether the difference is a clock change, as opposed to a visit that ended after its last action. */
function isClockChange(start: number, end: number, shown: unknown, finish: number | undefined): boolean {
  const change = Math.abs(end - start);
  const byClock = aheadByClock(shown, finish);
  return byClock === undefined ? change === hour : change <= 2 * hour && (byClock - end) % (day / 2) === 0;
}

const hour = 3600;
const day = 24 * hour;
const toleranceSeconds = 60;
/** Offsets in use are whole hours or one of these. */
const partHours = [-9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75].map(
  (each) => each * hour,
);

/** Returns the difference if it is a valid zone offset. */
function aheadBy(local: number, utc: number | undefined): number | undefined {
  if (utc === undefined) return undefined;
  const difference = local - utc;
  const whole = Math.round(difference / hour) * hour;
  const near = [whole, ...partHours].find((each) => Math.abs(difference - each) <= toleranceSeconds);
  return near === undefined || near < -12 * hour || near > 14 * hour ? undefined : near + 0;
}

const clockPattern = /(\d{1,2}):(\d\d):(\d\d)\s*([ap])?/i;

/**
 * Derives the offset from the displayed clock, such as `12:00:10` or `5:00:10 PM`; since the day is not shown, the offset closest
 * to UTC applies.
 */
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
 * Returns the index of the first action after a clock change. Actions are in chronological order, and clocks change at a full
 * half hour of UTC; if several places remain, the time that Matomo measured between two actions decides.
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
  // The clocks may have changed after the last action.
  if (isLater) places.push(local.length);
  const spent = places.filter((at) => isTimeSpent(visit, local, at, end - start) === true);
  const unknown = places.filter((at) => isTimeSpent(visit, local, at, end - start) === undefined);
  const [at = local.length] = [spent, unknown, places].find((some) => some.length > 0) ?? places;
  return { at, isClear: places.length === 1 || spent.length === 1 };
}

const halfHour = 1800;

/** Returns `undefined` if Matomo measured no time. */
function isTimeSpent(visit: Json, local: readonly number[], at: number, change: number): boolean | undefined {
  if (at >= local.length) return undefined;
  const actions: unknown = visit['actionDetails'];
  const before: unknown = Array.isArray(actions) ? actions[at - 1] : undefined;
  const spent = typeof before === 'object' && before !== null ? numberOf((before as Json)['timeSpent']) : undefined;
  return spent === undefined ? undefined : Math.abs((local[at] ?? 0) - change - (local[at - 1] ?? 0) - spent) <= 1;
}

/** Resolves an ambiguous hour to the first one, unless that reverses the order of the actions. */
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
