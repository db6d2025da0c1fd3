import { createHash } from 'node:crypto';
import { shownName } from './charts.ts';
import { integer } from '../../../base/integer-text.ts';
import { bytesText } from './figures.ts';
import { cut, html as markup, nothing, type Html } from '../../../base/html.ts';
import type { DayLine, EventLine, PartLine, ReportResult } from './report.ts';

/** Longer tables are collapsed. */
const openRowsMax = 31;
const partsShownMax = 1_000;
/** Days in the page; the JSON has all. */
const daysShownMax = 4_000;

export function dayTable({ days }: Pick<ReportResult, 'days'>): Html {
  const shown = days.slice(0, daysShownMax);
  const expired = expiredColumn(days);
  const rows = shown.map(
    (line) =>
      markup`<tr class="${isOff(line) ? 'off' : 'on'}"><th scope="row">${line.day}</th><td class="n">${integer(line.to_load)}</td>
<td class="n">${integer(line.duplicates)}</td><td class="n">${integer(line.loaded)}</td><td class="n">${integer(line.rejected)}</td>
<td class="n">${found(line.verified)}</td>${expired.cell(line)}</tr>`,
  );
  const left = days.length - shown.length;
  const columns = [
    'Day',
    'To load',
    'Duplicates',
    'Loaded',
    'Rejected by the target',
    'Found in the store',
    ...expired.name,
  ];
  return folded(`Events by day (${integer(days.length)})`, shown.length, table(columns, rows, notShown(left)));
}

export function eventTable(events: readonly EventLine[]): Html {
  const expired = expiredColumn(events);
  const rows = events.map(
    (line) =>
      markup`<tr class="${isOff(line) ? 'off' : 'on'}"><th class="name" scope="row">${nameOf(line)}</th><td class="n">${integer(line.to_load)}</td>
<td class="n">${integer(line.loaded)}</td><td class="n">${integer(line.rejected)}</td><td class="n">${found(line.verified)}</td>${expired.cell(line)}</tr>`,
  );
  const names = events.reduce((total, line) => total + line.names, 0);
  const columns = ['Event', 'To load', 'Loaded', 'Rejected by the target', 'Found in the store', ...expired.name];
  return folded(`Events by name (${integer(names)})`, events.length, table(columns, rows, ''));
}

export function partTable({ list, more }: ReportResult['parts']): Html {
  const shown = list.slice(0, partsShownMax);
  const rows = shown.map(
    (part) =>
      markup`<tr><th class="name" scope="row">${cut(part.key, 200)}</th><td class="n">${integer(part.records)}</td>
<td class="n">${integer(part.faults)}</td><td class="n">${bytesText(part.raw_bytes)}</td><td class="hash">${hashOf(part)}</td></tr>`,
  );
  const columns = ['Part', 'Records', 'Unreadable', 'Staged', 'SHA-256 of what was staged'];
  const all = list.length + more;
  const caption =
    'The hash of a part with several files is the hash of their hashes, one per line; the report as JSON has each of them.';
  return folded(
    `Parts of the source (${integer(all)})`,
    shown.length,
    table(columns, rows, `${caption} ${notShown(all - shown.length)}`),
  );
}

/** Returns the only hash, or the hash of several in hex, each followed by \n. */
function hashOf({ sha256, complete }: PartLine): string {
  const [only] = sha256;
  if (only === undefined) return complete ? 'empty' : 'not staged';
  if (sha256.length === 1) return only;
  return createHash('sha256')
    .update(sha256.map((hash) => `${hash}\n`).join(''))
    .digest('hex');
}

function table(columns: readonly string[], rows: readonly Html[], caption: string): Html {
  const [first = '', ...others] = columns;
  const numeric = others.map(
    (column) => markup`<th class="${isText(column) ? 'name' : 'n'}" scope="col">${column}</th>`,
  );
  return markup`<div class="scroll"><table><caption>${caption}</caption><thead><tr><th scope="col">${first}</th>${numeric}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function isText(column: string): boolean {
  return column.startsWith('SHA');
}

function folded(title: string, rows: number, content: Html): Html {
  if (rows <= openRowsMax) return markup`<h2>${title}</h2>${content}`;
  return markup`<details><summary>${title}</summary>${content}</details>`;
}

function notShown(count: number): string {
  return count > 0 ? `${integer(count)} more are in the report as JSON.` : '';
}

function nameOf(line: EventLine): Html {
  return line.event === '' ? markup`${integer(line.names)} other names` : shownName(line.event);
}

/** Returns whether another number was found than loaded and not expired. */
function isOff({ loaded, verified, expired = 0 }: DayLine | EventLine): boolean {
  return verified !== null && verified + expired !== loaded;
}

/** The last column, if events of any line have expired; otherwise empty. */
function expiredColumn(lines: readonly (DayLine | EventLine)[]) {
  const isShown = lines.some(({ expired }) => expired !== undefined);
  return {
    name: isShown ? ['Expired since'] : [],
    cell: ({ expired = 0 }: DayLine | EventLine): Html =>
      isShown ? markup`<td class="n">${integer(expired)}</td>` : nothing,
  };
}

function found(verified: number | null): string {
  return verified === null ? '–' : integer(verified);
}
