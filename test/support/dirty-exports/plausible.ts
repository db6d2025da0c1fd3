import type { Draw } from '../draw.ts';
import { drawProbe } from './dirt.ts';
import { rejected, type DirtyRecord, type ExpectedEvent, type MakeRecords } from './dirty-record.ts';
import { withValue } from './json-dirt.ts';
import { withRepeats } from './repeats.ts';
import { aheadSeconds } from './wall-clock.ts';

const zone = 'America/New_York';
export const plausibleOptions = { synthesise: 'yes', time_zone: zone };

/** Rows of `imported_pages`, and of tables whose totals are parts of the same. */
export const plausibleRecords: MakeRecords = withRepeats((draw, n) => {
  const good = row(draw, n);
  if (draw.chance(0.95)) return good;
  const { text } = good;
  switch (draw.int(6)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return {
        text: withValue(text, 'date', draw.pick(['null', '"2023-02-30"', '"12.03.2023"', '0'])),
        expected: rejected,
      };
    case 2:
      return { text: withValue(text, 'pageviews', draw.pick(['"many"', '-1', '1.5', '100001'])), expected: rejected };
    case 3:
      return { text: withValue(text, 'visitors', 'null'), expected: rejected };
    case 4:
      return { text: withValue(text, 'pageviews', draw.pick(['0', '"0"'])), expected: { is: 'skipped' } };
    default:
      return { text: text.replace('"page":', '"browser":'), expected: { is: 'skipped' } };
  }
});

/** Days of 23 and of 25 hours among them. */
function drawDay(draw: Draw): string {
  if (draw.chance(0.1)) return draw.pick(['2023-03-12', '2023-11-05']);
  return new Date(Date.UTC(2023, 0, 1 + draw.int(40))).toISOString().slice(0, 10);
}

/** Ms since the epoch at which a day begins there, `later` days after this one. */
function startOf(day: string, later = 0): number {
  const local = Date.parse(`${day}T00:00:00Z`) / 1000 + later * 86_400;
  return (local - aheadSeconds(zone, local - aheadSeconds(zone, local))) * 1000;
}

function row(draw: Draw, n: number): DirtyRecord {
  const day = drawDay(draw);
  const [probe, storedProbe] = drawProbe(draw, n);
  const [pageviews, visitors] = [1 + draw.int(6), draw.int(4)];
  const [start, end] = [startOf(day), startOf(day, 1)];
  const views = Array.from({ length: pageviews }, (_, view): ExpectedEvent => ({
    event: '$pageview',
    distinctId: `plausible-${day}-${view % Math.max(visitors, 1)}`,
    ms: Math.floor(start + ((view + 0.5) * (end - start)) / pageviews),
    probe: storedProbe,
    identity: `${n}.${view}`,
    isNobodys: true,
  }));
  const [event, ...others] = views;
  if (event === undefined) throw new Error('expected a view');
  const totals = `"visitors":${draw.pick([visitors, `"${visitors}"`])},"pageviews":${draw.pick([pageviews, `"${pageviews}"`])}`;
  const page = `"hostname":${draw.pick(['"shop.example"', '""'])},"page":"/p/${n}"`;
  return {
    text: `{"date":"${day}",${page},${totals},"n":${n},"probe":${probe}}`,
    expected: { is: 'stored', event, others },
  };
}
