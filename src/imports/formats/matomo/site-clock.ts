import type { FoundNote } from '../record-notes.ts';
import { idOf, numberOf, type Json } from '../read-values.ts';
import type { Zone } from '../times.ts';

/**
 * Matomo writes the `timestamp` of an action as the wall clock of the site taken as UTC, and the timestamps of the visit in true UTC
 * (plugins/Live/VisitorDetails.php; matomo-org/matomo#22720). How far the clock was ahead follows from comparing the two.
 */
export interface SiteClock {
  /** Seconds since 1970 of each action. */
  readonly seconds: readonly number[];
  readonly notes: readonly FoundNote[];
}

/** `local`: timestamps of the actions in the order of the visit. `zone`: of the option; undefined: not given. */
export function siteClock(visit: Json, local: readonly number[], zone: Zone | undefined): SiteClock {
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
