import type { ReactNode } from 'react';
import { CodeBlock } from '../../components/code-block.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { ErrorGroup, EventSummary } from '../../../../src/wire/contract/import-results.ts';
import { CheckProblems, RejectedLink } from './check-problems.tsx';
import { FindingsTable } from './findings-table.tsx';
import type { Run, RunIds } from './imports-query.ts';
import { isHeldByCheck } from '../../components/run-state-badge.tsx';
import { eventsToLoad, type CheckResult } from './run-results.ts';

const columns: readonly Column<EventSummary>[] = [
  { id: 'event', header: 'Event', sortBy: (row) => row.event, cell: (row) => <EventName row={row} /> },
  {
    id: 'count',
    header: 'Events',
    width: '8rem',
    align: 'end',
    sortBy: (row) => row.count,
    cell: (row) => <NumberText value={row.count} />,
  },
  { id: 'first', header: 'First', width: '12rem', cell: (row) => <TimeText time={row.first_time} /> },
  { id: 'last', header: 'Last', width: '12rem', cell: (row) => <TimeText time={row.last_time} /> },
];

function EventName({ row }: { readonly row: EventSummary }) {
  return (
    <span className="flex items-center gap-2">
      <UserText text={row.event} charsMax={100} short />
      {row.is_new === true && <StatusBadge tone="info">new</StatusBadge>}
    </span>
  );
}

interface CheckFindingsProps {
  readonly ids: RunIds;
  readonly check: CheckResult;
  readonly run: Run;
  /** Whether to show what prevents the load; the page of a run shows it at the top. */
  readonly showsProblems: boolean;
  /** Receives whether rules are selected that are not applied yet. */
  readonly onPending?: (isPending: boolean) => void;
}

/** The result of a check: whether the run can be loaded, and what to review first. */
export function CheckFindings({ ids, check, run, showsProblems, onPending }: CheckFindingsProps) {
  const isHeld = isHeldByCheck(run);
  return (
    <div className="flex flex-col gap-4">
      {isHeld ? (
        showsProblems && <CheckProblems run={run} check={check} />
      ) : (
        <Notice tone={check.verdict === 'passed' ? 'ok' : 'info'}>
          {check.verdict === 'passed' ? 'Check passed. ' : 'The run continued despite problems that the check found. '}
          <NumberText value={eventsToLoad(check)} /> events to load.
        </Notice>
      )}
      <CheckFigures check={check} run={run} />
      <FindingsTable key={run.id} {...{ ids, check, run, onPending }} />
      {check.errors.length > 0 && <RejectedReasons ids={ids} errors={check.errors} rejected={run.totals.rejected} />}
      <DataTable
        label="Events found"
        columns={columns}
        rows={check.events}
        rowId={(row) => row.event}
        maxHeight="24rem"
        empty={
          <EmptyState title="No events">The records do not produce events. Check the mapping of the import.</EmptyState>
        }
      />
    </div>
  );
}

/** The figures of a check: every record is loaded as events, skipped, rejected or a duplicate. */
function CheckFigures({ check, run: { totals } }: Pick<CheckFindingsProps, 'check' | 'run'>) {
  const skipped = Object.values(totals.skipped).reduce((sum, count) => sum + count, 0);
  const figures: readonly (readonly [string, ReactNode])[] = [
    ['Records read', <NumberText key="n" value={totals.records} />],
    ['Events to load', <NumberText key="n" value={eventsToLoad(check)} />],
    ['Rejected', <NumberText key="n" value={totals.rejected} />],
    ['Duplicates', <NumberText key="n" value={check.duplicates} />],
    ['Skipped', <NumberText key="n" value={skipped} />],
    ['Distinct ids', <DistinctIds key="n" identity={check.identity} />],
    ['First event', <FigureTime key="n" time={check.first_time} />],
    ['Last event', <FigureTime key="n" time={check.last_time} />],
  ];
  return (
    <dl className="grid grid-cols-2 gap-x-4 gap-y-3 rounded-lg border border-line bg-surface p-4 sm:grid-cols-4">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt className="text-xs text-soft">{name}</dt>
          <dd className="font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Many ids are estimated, with an error of about 1 %. */
function DistinctIds({ identity: { distinct_ids: count, is_estimated } }: Pick<CheckResult, 'identity'>) {
  if (is_estimated !== true) return <NumberText value={count} />;
  return <>about {Number(count.toPrecision(2)).toLocaleString('en')}</>;
}

/** A time that fits half of a narrow screen. */
function FigureTime({ time }: { readonly time: string | null }) {
  return (
    <span className="max-sm:text-xs">
      <TimeText time={time} />
    </span>
  );
}

interface RejectedReasonsProps {
  readonly ids: RunIds;
  readonly errors: readonly ErrorGroup[];
  readonly rejected: number;
}

function RejectedReasons({ ids, errors, rejected }: RejectedReasonsProps) {
  return (
    <Section title="Rejected by reason" actions={<RejectedLink ids={ids} rejected={rejected} />}>
      <ul className="flex flex-col gap-3">
        {errors.map(({ code, reason, count, example }) => (
          <li key={`${code} ${reason}`} className="flex flex-col gap-1 text-sm">
            <p>
              <NumberText value={count} /> × <UserText text={reason} />{' '}
              <span className="text-soft">
                (for example <UserText text={example.part} charsMax={100} short />, line{' '}
                {example.line.toLocaleString('en')})
              </span>
            </p>
            <CodeBlock code={example.original.slice(0, 2000)} label="Copy record" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
