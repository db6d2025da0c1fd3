import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, idJson, nobodies, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type Expected, type MakeRecords } from './dirty-record.ts';
import { drawMs, drawWho } from './people.ts';
import { withRepeats } from './repeats.ts';
import { clockAt } from './wall-clock.ts';

const zone = 'Europe/Berlin';

/** Rules for the rows below; cells of a table hold `probe` as its JSON. */
function rulesOf(probe: object): string {
  return JSON.stringify({
    event: 'what',
    distinct_id: { first: ['who', 'visitor'] },
    anonymous_id: 'visitor',
    timestamp: { path: 'at', format: 'dd.MM.yyyy HH:mm:ss', zone },
    uuid: 'id',
    properties: { n: { path: 'n', type: 'number' }, probe },
    skip: [{ if: 'test', is: 'yes', reason: 'a test' }],
  });
}

export const mappingRules: string = rulesOf({ path: 'probe' });
export const mappingTableRules: string = rulesOf({ path: 'probe', type: 'json' });

/** Columns of the tables. */
export const mappingColumns = ['what', 'who', 'visitor', 'at', 'id', 'n', 'probe', 'test'] as const;
type Row = Record<(typeof mappingColumns)[number], string>;

type Write = (draw: Draw, row: Row, n: number) => string;

/** Rows as lines of JSON. */
export const mappingRecords: MakeRecords = withRepeats((draw, n) => drawRow(draw, n, asJson));

/** The same rows as lines of a table. */
export const mappingTable: MakeRecords = withRepeats((draw, n) => drawRow(draw, n, asCsv));

/** Values are JSON; empty: none. */
function drawRow(draw: Draw, n: number, write: Write): DirtyRecord {
  const { user, device, stored } = drawWho(draw, { isPadded: true });
  const [what, event] = draw.pick(eventNames);
  const [probe, storedProbe] = drawProbe(draw, n);
  const isPlaceholderId = draw.chance(0.01);
  const who = isPlaceholderId ? draw.pick(nobodies) : user;
  const { localMs, ms } = clockAt(draw, zone, Math.floor(drawMs(draw, zone) / 1000) * 1000);
  const row: Row = {
    what,
    who: who === undefined ? '' : idJson(draw, who),
    visitor: JSON.stringify(device),
    at: JSON.stringify(shown(localMs)),
    id: `"id-${n}"`,
    n: String(n),
    probe,
    test: '"no"',
  };
  const id = stored(who ?? device);
  const good: Expected = {
    is: 'stored',
    event: { event, distinctId: id, ms, probe: storedProbe, identity: String(n), isNobodys: isPlaceholderId },
    ...(!isPlaceholderId && user !== undefined && { link: { device, user: id, ms } }),
  };
  const record = { text: write(draw, row, n), expected: good };
  if (draw.chance(0.95)) return record;
  switch (draw.int(7)) {
    case 0:
      return { text: write(draw, { ...row, at: '"30.02.2023 10:00:00"' }, n), expected: rejected };
    case 1:
      return { text: write(draw, { ...row, at: '"01.01.0023 10:00:00"' }, n), expected: rejected };
    case 2:
      return { text: write(draw, { ...row, at: '' }, n), expected: rejected };
    case 3:
      return { text: write(draw, { ...row, what: '' }, n), expected: rejected };
    case 4:
      return { text: write(draw, { ...row, what: `"${tooLongName}"` }, n), expected: rejectedEvent(record) };
    case 5:
      return { text: write(draw, { ...row, who: '', visitor: '' }, n), expected: rejected };
    default:
      return { text: write(draw, { ...row, test: '"yes"' }, n), expected: { is: 'skipped' } };
  }
}

/** `26.03.2023 03:30:00`. */
function shown(localMs: number): string {
  const [date = '', time = ''] = new Date(localMs).toISOString().split(/[T.]/);
  return `${date.split('-').reverse().join('.')} ${time}`;
}

function asJson(draw: Draw, row: Row): string {
  const members = mappingColumns.map((column) => `"${column}":${row[column] === '' ? 'null' : row[column]}`);
  const more = draw.chance(0.01) ? `,"wide":${wide(6000)}` : draw.chance(0.01) ? `,"deep":${deep(40)}` : '';
  return `{${members.join(',')}${more}}`;
}

/** Quoted where necessary, and sometimes where not. */
function asCsv(draw: Draw, row: Row): string {
  return mappingColumns
    .map((column) => {
      const json = row[column];
      // A cell holds a text as it is; `probe` is JSON.
      const text = column !== 'probe' && json.startsWith('"') ? (JSON.parse(json) as string) : json;
      return /[",\n\t ]/.test(text) || (text !== '' && draw.chance(0.1)) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',');
}
