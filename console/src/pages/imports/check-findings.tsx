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
import { unusualValueFields } from './choice-fields.ts';
import { ChangeRulesLink, CheckProblems } from './check-problems.tsx';
import { useProject } from '../../shell/project-context.tsx';
import type { Run } from './imports-query.ts';
import { isHeldByCheck } from '../../components/run-state-badge.tsx';
import { otherWarnings, type CheckResult, type UnusualFinding } from './run-results.ts';

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

/** The result of a check: whether the run can be loaded, and what to review first. */
export function CheckFindings({ check, run }: { readonly check: CheckResult; readonly run: Run }) {
  const isHeld = isHeldByCheck(run);
  return (
    <div className="flex flex-col gap-4">
      <Notice tone={check.verdict === 'passed' ? 'ok' : 'danger'}>
        {check.verdict === 'passed' ? 'Check passed. ' : 'Check failed. '}
        <NumberText value={check.identity.distinct_ids} /> distinct ids, <NumberText value={check.duplicates} />{' '}
        duplicates, from <TimeText time={check.first_time} /> to <TimeText time={check.last_time} />.
      </Notice>
      {isHeld && <CheckProblems run={run} />}
      {otherWarnings(check).map((text) => (
        <Notice key={text} tone="warn">
          <UserText text={text} charsMax={600} />
        </Notice>
      ))}
      <UnusualValues findings={check.odd_values ?? []} configId={run.plugin_config} />
      {check.errors.length > 0 && <RejectedReasons errors={check.errors} />}
      <Unmapped unmapped={check.unmapped} />
      <DataTable
        label="Events found"
        columns={columns}
        rows={check.events}
        rowId={(row) => row.event}
        maxHeight="24rem"
        empty={
          <EmptyState title="No events">
            The records do not produce events. Check the mapping in the preview.
          </EmptyState>
        }
      />
    </div>
  );
}

interface UnusualValuesProps {
  readonly findings: readonly UnusualFinding[];
  readonly configId: number;
}

/** Unusual values with their rules, and a link to change them. */
function UnusualValues({ findings, configId }: UnusualValuesProps) {
  const { id: projectId } = useProject();
  if (findings.length === 0) return null;
  return (
    <Section
      title="Unusual values"
      description="To change a rule, go to the preview: Selection and changes › Rules for unusual ids, names and times."
      actions={<ChangeRulesLink projectId={projectId} configId={configId} />}
      flush
    >
      <DataTable
        label="Unusual values found"
        columns={unusualColumns}
        rows={findings}
        rowId={({ of }) => of}
        empty={<EmptyState title="No unusual values" />}
      />
    </Section>
  );
}

const unusualColumns: readonly Column<UnusualFinding>[] = [
  {
    id: 'what',
    header: 'Values',
    width: '16rem',
    cell: ({ of }) => <span className="font-medium">{unusualValueFields[of]}</span>,
  },
  { id: 'count', header: 'Count', width: '6rem', align: 'end', cell: ({ count }) => <NumberText value={count} /> },
  { id: 'rule', header: 'Rule', width: '7rem', cell: ({ rule }) => <code className="text-xs">{rule}</code> },
  {
    id: 'effect',
    header: 'Effect',
    cell: ({ outcome, detail }) => <UserText text={outcome ?? detail} charsMax={600} />,
  },
];

function RejectedReasons({ errors }: { readonly errors: readonly ErrorGroup[] }) {
  return (
    <Section title="Rejected by reason">
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

function Unmapped({ unmapped }: Pick<CheckResult, 'unmapped'>) {
  const names = [...Object.entries(unmapped.events), ...Object.entries(unmapped.properties)];
  if (names.length === 0) return null;
  return (
    <Section
      title="Unmapped names"
      description="These names look specific to the source and are kept. You can rename them in the preview."
    >
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {names.slice(0, 200).map(([name, count]) => (
          <li key={name}>
            <code>
              <UserText text={name} charsMax={100} short />
            </code>{' '}
            <NumberText value={count} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
