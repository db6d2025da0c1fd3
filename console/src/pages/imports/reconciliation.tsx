import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight, Download, ExternalLink } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Button, buttonStyle } from '../../components/button.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Loading } from '../../components/loading.tsx';
import { importVerdicts } from '../../../../src/wire/contract/import-run-states.ts';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { plainText } from '../../components/plain-text.ts';
import { saveFile } from '../../components/save-file.ts';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import { countLabels, countNamesOf, countOf, csvOf, differs, isCellOff, totalOf, type Row } from './day-counts.ts';
import { runPath, type RunIds } from './imports-query.ts';
import { reportQuery, type Report, type ReportCell, type ReportDay } from './run-results.ts';

interface ReportOptions {
  readonly ids: RunIds;
  /** Changes whenever the report of the run may have changed. */
  readonly stamp: string;
}

function useReport({ ids, stamp }: ReportOptions) {
  const query = reportQuery(ids);
  return useQuery({ queryKey: [...query.queryKey, stamp], queryFn: query.queryFn as () => Promise<Report> });
}

/** Shows the verdict of the run as a sentence. Renders nothing until it is known. */
export function Verdict(options: ReportOptions) {
  const { data } = useReport(options);
  return data === undefined ? null : <VerdictNotice report={data} />;
}

type Outcome = Pick<Report, 'verdict' | 'summary' | 'undo'>;

function VerdictNotice({ report: { verdict, summary, undo } }: { readonly report: Outcome }) {
  const { label, tone } = importVerdicts[verdict];
  if (undo !== undefined) {
    return (
      <Notice tone="info">
        <span className="font-semibold">Undone.</span> <NumberText value={undo.plan.events} /> events were removed. The
        figures below are those before the undo.
      </Notice>
    );
  }
  return (
    <Notice tone={tone === 'neutral' ? 'info' : tone}>
      <span className="font-semibold">{label}.</span> <UserText text={summary} />
    </Notice>
  );
}

/** Compares source and store by day and event, with control totals. */
export function Reconciliation({ ids, stamp }: ReportOptions) {
  const report = useReport({ ids, stamp });
  if (report.data === undefined) {
    return report.error === null ? (
      <Loading label="Loading report" />
    ) : (
      <ErrorState error={report.error} onRetry={() => void report.refetch()} />
    );
  }
  const { differences } = report.data;
  return (
    <div className="flex flex-col gap-4">
      <VerdictNotice report={report.data} />
      <Days report={report.data} />
      <Sums balance={report.data.balance} />
      {differences.list.length > 0 && (
        <Section
          title="Differences"
          description={differences.more > 0 ? `${differences.more} more in the report.` : ''}
        >
          <ul className="flex flex-col gap-1 text-sm">
            {differences.list.slice(0, 200).map(({ kind, day, event, detail }, index) => (
              <li key={index}>
                {kind}, {day}, <UserText text={event} charsMax={80} short />: <UserText text={detail} />
              </li>
            ))}
          </ul>
        </Section>
      )}
    </div>
  );
}

/** Opens the report as a standalone page, for archiving. */
export function ReportLink({ ids }: { readonly ids: RunIds }) {
  return (
    <a href={`${runPath(ids)}/report?format=html`} target="_blank" rel="noreferrer" className={buttonStyle('plain')}>
      <ExternalLink aria-hidden="true" className="size-4" /> Report
    </a>
  );
}

function Days({ report }: { readonly report: Report }) {
  const { days, cells } = report;
  const [from, setFrom] = useState(0);
  const columns = useMemo(() => columnsOf(cells.events, from, days), [cells.events, from, days]);
  const rows = useMemo(() => {
    const counts = new Map(cells.rows.map((row) => [row.day, row.counts]));
    return days.map((day): Row => Object.assign({ counts: counts.get(day.day) ?? [] }, day));
  }, [days, cells]);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Button
          size="small"
          disabled={rows.length === 0}
          icon={<Download aria-hidden="true" className="size-3.5" />}
          onClick={() => saveFile('reconciliation.csv', 'text/csv', csvOf(rows, cells.events))}
        >
          Download CSV
        </Button>
        <EventNamePager count={cells.events.length} from={from} onFrom={setFrom} />
      </div>
      <DataTable
        label="Days"
        columns={columns}
        rows={rows}
        rowId={(row) => row.day}
        maxHeight="28rem"
        empty={<EmptyState title="No days yet">Days appear here when the check is done.</EmptyState>}
      />
    </div>
  );
}

const eventsShown = 6;

interface EventNamePagerProps {
  readonly count: number;
  readonly from: number;
  readonly onFrom: (from: number) => void;
}

/** Pages through event names, of which there may be hundreds, a few columns at a time. */
function EventNamePager({ count, from, onFrom }: EventNamePagerProps) {
  if (count <= eventsShown) return null;
  const last = Math.min(from + eventsShown, count);
  return (
    <div className="flex items-center justify-end gap-2 text-xs text-soft">
      <span role="status">
        Event names {from + 1} to {last} of {count.toLocaleString('en')}
      </span>
      <IconButton
        label="Previous event names"
        size="small"
        disabled={from === 0}
        icon={<ChevronLeft aria-hidden="true" className="size-4" />}
        onClick={() => onFrom(Math.max(0, from - eventsShown))}
      />
      <IconButton
        label="Next event names"
        size="small"
        disabled={last === count}
        icon={<ChevronRight aria-hidden="true" className="size-4" />}
        onClick={() => onFrom(last)}
      />
    </div>
  );
}

function columnsOf(events: readonly string[], from: number, days: readonly ReportDay[]): readonly Column<Row>[] {
  return [
    { id: 'day', header: 'Day', width: '8rem', sortBy: (row) => row.day, cell: (row) => row.day, total: 'Total' },
    ...countNamesOf(days).map((name): Column<Row> => ({
      id: name,
      header: countLabels[name],
      width: name === 'rejected' ? '11rem' : '7rem',
      align: 'end',
      sortBy: (row) => countOf(row, name),
      cell: (row) => (
        <span className={differs(row, name) ? 'text-danger' : ''}>
          <NumberText value={countOf(row, name)} />
        </span>
      ),
      total: <NumberText value={totalOf(days, name)} />,
    })),
    ...events.slice(from, from + eventsShown).map((event, index): Column<Row> => ({
      id: `event ${from + index}`,
      header: <UserText text={event} charsMax={24} short />,
      label: plainText(event, 24),
      width: '8rem',
      align: 'end',
      cell: (row) => <CellText cell={row.counts[from + index]} />,
    })),
  ];
}

/** Shows all counts of a cell if they differ. */
function CellText({ cell }: { readonly cell: ReportCell | undefined }) {
  if (cell === undefined || typeof cell === 'number') return <NumberText value={cell} />;
  const [toLoad, loaded, found, expired = 0] = cell;
  const isOff = isCellOff(cell);
  if (expired > 0 && !isOff) {
    return (
      <span className="text-soft">
        {found !== 0 && (
          <>
            <NumberText value={found} />,{' '}
          </>
        )}
        <NumberText value={expired} /> expired
      </span>
    );
  }
  return (
    <span className={isOff ? 'text-danger' : ''}>
      <NumberText value={found ?? loaded} /> of <NumberText value={toLoad} />
      <span className="sr-only">
        {found === null ? ' loaded, not compared with the store' : ` found in the store, ${loaded} loaded`}
      </span>
    </span>
  );
}

function Sums({ balance }: Pick<Report, 'balance'>) {
  return (
    <Section title="Control totals" flush>
      <ul className="divide-y divide-line text-sm">
        {balance.map(({ name, left, right, holds }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-4 px-4 py-2">
            <span className="min-w-56 flex-1">{name}</span>
            <span className="tabular-nums">
              <NumberText value={left} /> = <NumberText value={right} />
            </span>
            <StatusBadge tone={holds ? 'ok' : 'danger'}>{holds ? 'agrees' : 'differs'}</StatusBadge>
          </li>
        ))}
      </ul>
    </Section>
  );
}
