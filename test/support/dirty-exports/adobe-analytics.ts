import type { Draw } from '../draw.ts';
import { nobodies } from './dirt.ts';
import { rejected, type DirtyRecord, type ExpectedEvent, type MakeRecords } from './dirty-record.ts';
import { drawMs, drawWho, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';
import { clockAt } from './wall-clock.ts';

/** Hits of a data feed as its files have them. */
export const adobeRecords: MakeRecords = withRepeats(drawRecord);

/** Of a feed with few columns: its time is the clock of the suite, and hits have no ids. */
export const adobeNarrowRecords: MakeRecords = withRepeats(drawNarrow);

const columns = [
  'hit_time_gmt',
  'post_cust_hit_time_gmt',
  'date_time',
  'hitid_high',
  'hitid_low',
  'exclude_hit',
  'hit_source',
  'visid_high',
  'visid_low',
  'post_visid_high',
  'post_visid_low',
  'mcvisid',
  'evar7',
  'post_evar7',
  'probe',
  'post_probe',
  'page_url',
  'page_event',
  'post_page_event',
  'event_list',
  'post_product_list',
  'post_mvvar1',
  'n',
] as const;
const narrowColumns = ['date_time', 'visid_high', 'visid_low', 'evar7', 'probe', 'n'] as const;
const zone = 'Europe/Berlin';

export const adobeOptions = { columns: columns.join('\t'), user_id: 'evar7' };
export const adobeNarrowOptions = { columns: narrowColumns.join('\t'), user_id: 'evar7', time_zone: zone };

type Cells = Readonly<Partial<Record<(typeof columns)[number], string>>>;

/** Every cell is text, and stays what it was: digits, carets outside of lists, and what a backslash protects. */
const texts = [
  '1234567890123456789012345678901234567890',
  '0.1000000000000000055511151231257827',
  '1.50',
  '00',
  '-1',
  'a^,b^^c',
  'tab	here',
  'line\nbreak',
  'C:\\path\\',
  '\\t',
  '"quoted',
  'ü 😀',
  '{"deep":[1]}',
  'x'.repeat(255),
];

function drawText(draw: Draw, n: number): string {
  return draw.chance(0.33) ? draw.pick(texts) : `v${n}`;
}

function lineOf(names: readonly (typeof columns)[number][], cells: Cells): string {
  return names.map((name) => (cells[name] ?? '').replaceAll(/[\\\t\n]/g, (each) => `\\${each}`)).join('\t');
}

const kinds = [
  ['0', '$pageview'],
  ['', '$pageview'],
  ['100', 'custom_link'],
  ['10', 'custom_link'],
  ['101', 'download_link'],
  ['12', 'exit_link'],
  ['31', 'hit_31'],
] as const;

function drawRecord(draw: Draw, n: number): DirtyRecord {
  const who = drawWho(draw);
  const ids = drawIds(draw, who);
  const time = drawClocks(draw);
  const [kind, event] = draw.pick(kinds);
  const probe = drawText(draw, n);
  const cells: Cells = {
    ...ids.cells,
    ...time.cells,
    hitid_high: draw.pick(['3057065293683690001', '3.05707E+18']),
    hitid_low: String(6851172e6 + n),
    exclude_hit: draw.pick(['0', '']),
    hit_source: draw.pick(['1', '2', '']),
    probe: 'sent',
    post_probe: probe,
    page_event: '11',
    post_page_event: kind,
    page_url: 'https://shop.example/cart',
    event_list: '1,200=2^,5',
    post_product_list: ';Boot^;s;1;39.90;;',
    post_mvvar1: 'a,b^,c',
    n: String(n),
  };
  const expected = expectedOf(n, { ...ids, event, ms: time.ms, probe }, who);
  if (draw.chance(0.95)) return { text: lineOf(columns, cells), expected };
  return dirtyHit(draw, cells, who.user !== undefined && ids.isKnown);
}

function dirtyHit(draw: Draw, cells: Cells, hasUser: boolean): DirtyRecord {
  const text = lineOf(columns, cells);
  switch (draw.int(6)) {
    case 0:
      return { text: cut(draw, text), expected: rejected };
    case 1:
      return { text: `${text}\t`, expected: rejected };
    case 2: {
      const none = { hit_time_gmt: '0', post_cust_hit_time_gmt: '', date_time: '0000-00-00 00:00:00' };
      return { text: lineOf(columns, { ...cells, ...none }), expected: rejected };
    }
    case 3: {
      const excluded = draw.pick([{ exclude_hit: '1' }, { exclude_hit: '8' }]);
      return { text: lineOf(columns, { ...cells, ...excluded }), expected: { is: 'skipped' } };
    }
    case 4:
      return {
        text: lineOf(columns, { ...cells, hit_source: draw.pick(['5', '7', '8', '9']) }),
        expected: { is: 'skipped' },
      };
    default: {
      const future = { post_cust_hit_time_gmt: '32503680000', hit_time_gmt: '32503680000', date_time: '' };
      const anonymous = { post_evar7: '', post_visid_high: '0', post_visid_low: '0', mcvisid: '' };
      return { text: lineOf(columns, { ...cells, ...(hasUser ? future : anonymous) }), expected: rejected };
    }
  }
}

/** Before its last column. A trailing backslash would continue in the next line. */
function cut(draw: Draw, text: string): string {
  return text.slice(0, 1 + draw.int(text.lastIndexOf('\t') - 1)).replace(/[\\\n]+$/, '');
}

interface Ids {
  readonly cells: Cells;
  /** A visitor whose user may be unknown. */
  readonly visitor: string;
  readonly isKnown: boolean;
}

/** The cookie of the suite, two numbers; else the id of the Experience Cloud. */
function drawIds(draw: Draw, { user, device }: Who): Ids {
  const number = Number(device.slice('d-'.length));
  const [high, low] = [`279147152889918${1000 + number}`, `0${791_228_704_714_081_521n + BigInt(number)}`];
  const cloud = `8026745678912345678901234567890123${1000 + number}`;
  const isCookie = draw.chance(0.8);
  const isKnown = draw.chance(0.97);
  return {
    cells: {
      visid_high: '1',
      visid_low: '2',
      mcvisid: cloud,
      evar7: 'sent',
      post_visid_high: isCookie ? high : draw.pick(['0', '']),
      post_visid_low: isCookie ? low : '0',
      post_evar7: isKnown ? (user ?? '') : draw.pick([...nobodies, '::empty::']),
    },
    visitor: isCookie ? `${high}_${low}` : cloud,
    isKnown,
  };
}

/** Times in GMT, where 0 means missing; otherwise the clock of the suite, here UTC. */
function drawClocks(draw: Draw): { readonly cells: Cells; readonly ms: number } {
  const seconds = drawSeconds(draw);
  const [own, other] = [String(seconds), '1600000000'];
  const text = new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const cells = draw.pick<Cells>([
    { post_cust_hit_time_gmt: own, hit_time_gmt: other, date_time: '2020-01-01 00:00:00' },
    { post_cust_hit_time_gmt: draw.pick(['0', '']), hit_time_gmt: own, date_time: '2020-01-01 00:00:00' },
    { post_cust_hit_time_gmt: '', hit_time_gmt: '0', date_time: text },
  ]);
  return { cells, ms: seconds * 1000 };
}

function expectedOf(
  n: number,
  { visitor, isKnown, event, ms, probe }: Omit<Ids, 'cells'> & Pick<ExpectedEvent, 'event' | 'ms' | 'probe'>,
  { user, stored }: Who,
): DirtyRecord['expected'] {
  const known = isKnown ? user : undefined;
  return {
    is: 'stored',
    event: { event, distinctId: stored(known ?? visitor), ms, probe: JSON.stringify(probe), identity: String(n) },
    ...(known !== undefined && { link: { device: visitor, user: stored(known), ms } }),
  };
}

function drawNarrow(draw: Draw, n: number): DirtyRecord {
  const who = drawWho(draw);
  const { visitor, isKnown, cells } = drawIds(draw, who);
  const probe = drawText(draw, n);
  const { localMs, ms } = clockAt(draw, zone, drawSeconds(draw, zone) * 1000);
  const [high = '', low = ''] = visitor.split('_');
  const line = lineOf(narrowColumns, {
    date_time: new Date(localMs).toISOString().slice(0, 19).replace('T', ' '),
    visid_high: high,
    visid_low: low === '' ? '0' : low,
    evar7: cells.post_evar7 ?? '',
    probe,
    n: String(n),
  });
  const hasVisitor = low !== '';
  const user = isKnown ? who.user : undefined;
  if (draw.chance(0.03)) return { text: cut(draw, line), expected: rejected };
  if (!hasVisitor && user === undefined) return { text: line, expected: rejected };
  const event = { event: '$pageview', ms, probe: JSON.stringify(probe), identity: String(n), isCounted: true };
  return {
    text: line,
    expected: {
      is: 'stored',
      event: { ...event, distinctId: who.stored(user ?? visitor) },
      ...(hasVisitor && user !== undefined && { link: { device: visitor, user: who.stored(user), ms: event.ms } }),
    },
  };
}

/** Since the epoch. No time is 0 here: it stands for none. */
function drawSeconds(draw: Draw, zone?: string): number {
  return Math.floor(Math.max(drawMs(draw, zone), Date.UTC(2023, 0, 1)) / 1000);
}
