import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, nobodies, wide, type Probe } from './dirt.ts';
import { rejected, type DirtyRecord, type ExpectedEvent, type MakeRecords } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';
import { aheadSeconds, type ClockChange } from './wall-clock.ts';

/** Visits of Live.getLastVisitsDetails, one per line. `silent`: the zone of visits that state none; by default there are no such visits. */
export const matomoRecords = (silent?: string): MakeRecords => withRepeats((draw, n) => drawRecord(draw, n, silent));

/** Its zone, and nights in which its clocks change. */
type Site = readonly [zone: string, changes: readonly ClockChange[]];

const sites: readonly Site[] = [
  ['UTC', []],
  ['Asia/Kolkata', []],
  ['Pacific/Apia', []],
  ['Europe/Berlin', [Date.UTC(2023, 2, 26, 1), Date.UTC(2023, 9, 29, 1)]],
  ['America/New_York', [Date.UTC(2023, 2, 12, 7), Date.UTC(2023, 10, 5, 6)]],
  ['Australia/Lord_Howe', [Date.UTC(2023, 3, 1, 15), Date.UTC(2023, 8, 30, 15, 30)]],
];

function drawRecord(draw: Draw, n: number, silent: string | undefined): DirtyRecord {
  const isSilent = silent !== undefined && draw.chance(0.5);
  const site = isSilent ? sites.find(([zone]) => zone === silent) : draw.pick(sites);
  if (site === undefined) throw new Error(`expected a site in ${silent}`);
  const good = visit(draw, { n, site, isSilent }, drawWho(draw));
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(8)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: text.replace(/"timestamp":[^,]+,/, '"timestamp":0,'), expected: rejected };
    case 2:
      return { text: text.replace('"timestamp":', '"time":'), expected: rejected };
    case 3:
      return { text: text.replace('"type":', '"kind":'), expected: rejected };
    case 4:
      return { text: text.replace(/"actionDetails":.*/s, '"actionDetails":[]}'), expected: { is: 'skipped' } };
    case 5:
      return { text: text.replace('"n":', `"deep":${deep(500 + draw.int(5000))},"n":`), expected: rejected };
    case 6:
      return { text: text.replace('"n":', `"wide":${wide(1000)},"n":`), expected: good.expected };
    default:
      return { text: text.replace(/"(userId|visitorId)":(?:"(?:[^"\\]|\\.)*"|\d+)/g, '"$1":null'), expected: rejected };
  }
}

function visit(
  draw: Draw,
  { n, site, isSilent }: { readonly n: number; readonly site: Site; readonly isSilent: boolean },
  { user, device, stored }: Who,
): DirtyRecord {
  const isPlaceholderId = draw.chance(0.01);
  const id = isPlaceholderId ? draw.pick(nobodies) : user;
  const [zone, changes] = site;
  const drawn = drawTimes(draw, changes);
  const clock = drawn.map((at) => at + aheadSeconds(zone, at));
  const times = isSilent ? takenFor(drawn, zone) : drawn;
  const distinctId = stored(isPlaceholderId ? device : (user ?? device));
  const actions = drawn.map((at, place) =>
    action(draw, {
      n,
      place,
      clock: clock[place] ?? at,
      at: times[place] ?? at,
      spent: spentAt(drawn, place),
      distinctId,
    }),
  );
  const cut = actions.length > 1 && draw.chance(0.05) ? 1 + draw.int(actions.length - 1) : 0;
  const kept = actions.slice(0, actions.length - cut);
  const [first, ...others] = kept.flatMap(({ event }) => event ?? []);
  const head = JSON.stringify({
    idSite: draw.pick([1, '1']),
    idVisit: draw.pick([n, String(n)]),
    visitorId: device,
    ...(!isSilent && clocks(drawn, zone, draw.chance(0.1) ? 90 + draw.int(900) : 0)),
    ...(cut > 0 && { truncatedActionsCount: draw.pick([cut, String(cut)]) }),
  }).slice(1, -1);
  const text = `{"userId":${idText(draw, id)},${head},"actionDetails":[${kept.map(({ text }) => text).join(',')}]}`;
  if (first === undefined) return { text, expected: { is: 'skipped' } };
  // Actions that are not stored, such as goals, link nothing.
  const link = { device, user: stored(user ?? ''), ms: first.ms };
  return {
    text,
    expected: { is: 'stored', event: first, others, ...(!isPlaceholderId && user !== undefined && { link }) },
  };
}

/** Ids of digits come as text and as numbers. */
function idText(draw: Draw, id: string | undefined): string {
  if (id === undefined) return draw.pick(['null', '""']);
  return /^\d+$/.test(id) && draw.chance(0.5) ? id : JSON.stringify(id);
}

/** Seconds since 1970 of the actions of a visit, in UTC; in some visits the clocks of the site change. */
function drawTimes(draw: Draw, changes: readonly ClockChange[]): readonly number[] {
  const begin =
    changes.length > 0 && draw.chance(0.1)
      ? draw.pick(changes) / 1000 - 1 - draw.int(2000)
      : // Matomo has no visits of 1970.
        Math.floor(Math.max(drawTime(draw).ms, Date.UTC(2023, 0, 1)) / 1000);
  const times = [begin];
  for (let more = draw.int(6); more > 0; more -= 1) times.push((times.at(-1) ?? begin) + 1 + draw.int(1500));
  return times;
}

function spentAt(times: readonly number[], place: number): number | undefined {
  const [at, next] = [times[place], times[place + 1]];
  return at === undefined || next === undefined ? undefined : next - at;
}

/** An hour that comes twice is the first one, unless the order of the actions would flip. */
function takenFor(times: readonly number[], zone: string): readonly number[] {
  const taken: number[] = [];
  for (const at of times) {
    const isSecond = aheadSeconds(zone, at - 3600) > aheadSeconds(zone, at);
    const first = isSecond ? at - 3600 : at;
    taken.push(first < (taken.at(-1) ?? first) ? at : first);
  }
  return taken;
}

/** What Matomo says about the visit as a whole: in UTC, and by the clock of the site. A ping may move its end. */
function clocks(times: readonly number[], zone: string, pingSeconds: number): object {
  const [first = 0] = times;
  const last = (times.at(-1) ?? first) + pingSeconds;
  const shown = (at: number): string =>
    new Date((at + aheadSeconds(zone, at)) * 1000).toISOString().slice('2023-01-01T'.length, -'.000Z'.length);
  return {
    firstActionTimestamp: first,
    lastActionTimestamp: last,
    serverTimePretty: shown(last),
    serverTimePrettyFirstAction: shown(first),
  };
}

interface Place {
  readonly n: number;
  readonly place: number;
  /** What the clock of the site shows, and when that is taken to be; seconds. */
  readonly clock: number;
  readonly at: number;
  /** Seconds until the action after it. */
  readonly spent: number | undefined;
  readonly distinctId: string;
}

function action(
  draw: Draw,
  { n, place, clock, at, spent, distinctId }: Place,
): { readonly text: string; readonly event: ExpectedEvent | undefined } {
  const [kind, name] = drawKind(draw);
  const [probe, stored] = drawValue(draw, n);
  const timestamp = draw.pick([String(clock), `"${clock}"`]);
  const timeSpent = spent === undefined ? '' : `"timeSpent":"${spent}",`;
  return {
    text: `{${kind},"timestamp":${timestamp},${timeSpent}"pageId":"${n * 10 + place}","n":${n},"probe":${probe}}`,
    event:
      name === undefined
        ? undefined
        : { event: name, distinctId, ms: at * 1000, probe: stored, identity: `${n}.${place}` },
  };
}

/** Members that say what it was, and its name; none: a goal, which repeats another action. */
function drawKind(draw: Draw): readonly [members: string, name: string | undefined] {
  const kind = draw.int(10);
  if (kind < 3) return ['"type":"action"', '$pageview'];
  if (kind < 4) return ['"type":"goal"', undefined];
  if (kind < 5) return ['"type":13', 'content interaction'];
  if (kind < 6) return ['"type":"event","eventAction":"goal"', 'goal'];
  if (kind < 7) return ['"type":"event","eventAction":null,"eventName":"second"', 'second'];
  const [written, name] = draw.pick(eventNames);
  return [`"type":"event","eventCategory":"shop","eventAction":${written}`, name];
}

/** PHP writes an object without members as an empty list, which therefore says nothing. */
function drawValue(draw: Draw, n: number): Probe {
  const probe = drawProbe(draw, n);
  return probe[0] === '[]' ? ['1.50', '1.5'] : probe;
}
