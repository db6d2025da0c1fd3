import { type Column } from '../../components/data-table.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { Badge } from '../../components/badge.tsx';
import { oneLine } from '../../components/one-line.ts';
import type { LiveRow } from './live-buffer.ts';
import { StageBadge } from './stage-badge.tsx';

/** @param open shows the way of the event of a row */
export function liveColumns(open: (row: LiveRow) => void): readonly Column<LiveRow>[] {
  return [
    { id: 'at', header: 'Seen', width: '7.5rem', cell: ({ event }) => <TimeText time={event.at} form="clock" /> },
    { id: 'stage', header: 'Stage', width: '8rem', cell: ({ event }) => <StageBadge stage={event.stage} /> },
    {
      id: 'event',
      header: 'Event',
      width: '14rem',
      cell: (row) => (
        <button type="button" className="max-w-full truncate text-left font-medium" onClick={() => open(row)}>
          <UserText text={row.event.event === '' ? '(no name)' : row.event.event} charsMax={60} short />
        </button>
      ),
    },
    {
      id: 'distinct_id',
      header: 'Distinct id',
      width: '12rem',
      cell: ({ event }) => (
        <span className="block truncate">
          <UserText text={event.distinct_id} charsMax={60} short />
        </span>
      ),
    },
    { id: 'what', header: 'What', cell: ({ event }) => <What event={event} /> },
  ];
}

/** Why it ended, or what it holds. */
function What({ event }: Pick<LiveRow, 'event'>) {
  const text = event.reason ?? (event.properties === null ? 'too large to show' : oneLine(event.properties));
  return (
    <span className="block truncate text-soft">
      {event.historical_migration && (
        <>
          <Badge tone="neutral">historical</Badge>{' '}
        </>
      )}
      <UserText text={text} charsMax={160} short />
    </span>
  );
}
