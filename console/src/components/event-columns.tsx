import { Link } from '@tanstack/react-router';
import { Badge } from './badge.tsx';
import type { Column } from './data-table.tsx';
import { TimeText } from './time-text.tsx';
import { UserText } from './user-text.tsx';
import type { StoredEvent } from '../api/stored-events.ts';
import { oneLine, valueText } from './one-line.ts';
import { plainText } from './plain-text.ts';

interface EventColumnsOptions {
  readonly projectId: number;
  /** Properties with a separate column. If empty, one column shows all properties. */
  readonly properties: readonly string[];
  /** IANA name. */
  readonly zone: string;
  readonly open: (event: StoredEvent) => void;
}

export function eventColumns({ projectId, properties, zone, open }: EventColumnsOptions): Column<StoredEvent>[] {
  const propertyColumns = properties.map((name): Column<StoredEvent> => ({
    id: `property ${name}`,
    header: <UserText text={name} charsMax={40} short />,
    label: plainText(name, 40),
    width: '12rem',
    cell: ({ properties: all }) => <Line text={Object.hasOwn(all, name) ? valueText(all[name]) : '–'} />,
  }));
  return [
    {
      id: 'time',
      header: 'Time',
      width: '11rem',
      cell: ({ timestamp }) => <TimeText time={timestamp} zone={zone} />,
    },
    {
      id: 'event',
      header: 'Event',
      width: '14rem',
      cell: (event) => (
        <button type="button" className="max-w-full truncate text-left font-medium" onClick={() => open(event)}>
          <UserText text={event.event} charsMax={60} short />
        </button>
      ),
    },
    {
      id: 'distinct_id',
      header: 'Distinct id',
      width: '13rem',
      cell: ({ distinct_id: distinctId }) => (
        <Link
          to="/projects/$projectId/persons/$distinctId"
          params={{ projectId: String(projectId), distinctId }}
          className="block truncate hover:underline"
        >
          <UserText text={distinctId} charsMax={60} short />
        </Link>
      ),
    },
    {
      id: 'kind',
      header: 'Kind',
      width: '7rem',
      cell: (event) => (event.historical_migration ? <Badge>historical</Badge> : <Badge tone="ok">live</Badge>),
    },
    ...propertyColumns,
    ...(propertyColumns.length > 0
      ? []
      : [
          {
            id: 'properties',
            header: 'Properties',
            cell: (event: StoredEvent) => <Line text={oneLine(event.properties)} />,
          },
        ]),
  ];
}

function Line({ text }: { readonly text: string }) {
  return (
    <span className="block truncate text-soft">
      <UserText text={text} charsMax={160} short />
    </span>
  );
}
