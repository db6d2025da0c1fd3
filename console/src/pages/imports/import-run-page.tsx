import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { skippedReasons } from '../../../../src/wire/contract/skipped-reasons.ts';
import { apiQuery } from '../../api/queries.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { isHeldByCheck, isUnfinished, RunStateBadge } from '../../components/run-state-badge.tsx';
import { Section } from '../../components/section.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { CheckFindings } from './check-findings.tsx';
import { CheckProblems } from './check-problems.tsx';
import type { RunTab } from './imports-search.ts';
import {
  configQuery,
  commandLineConfigId,
  type Preflight,
  type Run,
  runPath,
  type RunIds,
  useRun,
} from './imports-query.ts';
import { PreflightList } from './preflight-list.tsx';
import { Reconciliation, ReportLink, Verdict } from './reconciliation.tsx';
import { RejectedRecords } from './rejected-records.tsx';
import { checkQuery, hasPreflight, isChecked } from './run-results.ts';
import { RunStages } from './run-stages.tsx';
import { RunActionBar } from './run-action-bar.tsx';

const route = getRouteApi('/projects/$projectId/imports/$configId/runs/$runId');

const tabs: readonly { readonly value: RunTab; readonly label: string }[] = [
  { value: 'progress', label: 'Progress' },
  { value: 'check', label: 'Check' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'reconciliation', label: 'Reconciliation' },
  { value: 'preflight', label: 'Preflight' },
];

/** One run: its progress, results and actions. */
export function ImportRunPage() {
  const { id: projectId } = useProject();
  const { configId, runId } = route.useParams();
  const { tab = 'progress' } = route.useSearch();
  const navigate = route.useNavigate();
  const ids = { projectId, configId: Number(configId), runId };
  const run = useRun(ids);
  const isCommand = ids.configId === commandLineConfigId;
  const config = useQuery({ ...configQuery(projectId, ids.configId), enabled: !isCommand });
  const name = isCommand ? (run.data?.name ?? 'Command line') : (config.data?.name ?? 'Import');
  if (run.data === undefined) {
    return (
      <>
        <PageHeader title="Import run" />
        {run.error === null ? <Loading /> : <ErrorState error={run.error} onRetry={() => void run.refetch()} />}
      </>
    );
  }
  return (
    <>
      <Breadcrumb ids={ids} name={name} />
      <PageHeader
        title="Import run"
        heading={
          <span className="flex flex-wrap items-center gap-3">
            <UserText text={name} charsMax={80} short /> <RunStateBadge run={run.data} />
          </span>
        }
        description={
          <>
            {run.data.options.limit === null ? 'Run' : 'Trial'} of <TimeText time={run.data.created_at} />
          </>
        }
        actions={
          <>
            {!isCommand && <ReportLink ids={ids} />}
            <RunActionBar ids={ids} run={run.data} />
          </>
        }
      />
      <RunNotices run={run.data} />
      {isCommand ? (
        <CommandRun run={run.data} />
      ) : (
        <Tabs
          tabs={tabs}
          value={tab}
          onChange={(next) => void navigate({ search: next === 'progress' ? {} : { tab: next }, replace: true })}
        >
          <TabContent tab={tab} ids={ids} run={run.data} />
        </Tabs>
      )}
    </>
  );
}

/** Links to the import; runs of the command line have none. */
function Breadcrumb({ ids: { projectId, configId }, name }: { readonly ids: RunIds; readonly name: string }) {
  const params = { projectId: String(projectId), configId: String(configId) };
  return (
    <p className="pb-1 text-sm text-soft">
      <Link to="/projects/$projectId/imports" params={{ projectId: params.projectId }} className="hover:underline">
        Imports
      </Link>
      {' / '}
      {configId === commandLineConfigId ? (
        name
      ) : (
        <Link to="/projects/$projectId/imports/$configId" params={params} className="hover:underline">
          <UserText text={name} charsMax={60} short />
        </Link>
      )}
    </p>
  );
}

/** A run of the command line: the service has its progress, but its results stay where the command ran. */
function CommandRun({ run }: { readonly run: Run }) {
  return (
    <div className="flex flex-col gap-4">
      <Progress run={run} />
      <Section title="Check, rejected records and report" description="Stored where the command was started.">
        <CodeBlock code={`millrace import report --run ${run.id}\nmillrace import rejected --run ${run.id}`} />
      </Section>
    </div>
  );
}

function Progress({ run }: { readonly run: Run }) {
  return (
    <div className="flex flex-col gap-4">
      <RunStages run={run} />
      <RunTotals run={run} />
    </div>
  );
}

/** Explains why a run is waiting, paused or failed. */
function RunNotices({ run }: { readonly run: Run }) {
  return (
    <div className="flex flex-col gap-2 pb-3 empty:hidden">
      {run.waiting !== null && (
        <Notice tone="info">
          Waiting, will continue automatically: <UserText text={run.waiting.reason} />
          {run.waiting.until !== null && (
            <>
              {' '}
              Until <TimeText time={run.waiting.until} />.
            </>
          )}
        </Notice>
      )}
      {isHeldByCheck(run) ? <CheckProblems run={run} /> : <Reason run={run} />}
      {run.command !== null && (run.state === 'paused' || run.state === 'failed') && run.stage !== 'undo' && (
        <div className="text-sm">
          <p className="pb-1 text-soft">To resume, run this command where it was started:</p>
          <CodeBlock code={run.command} label="Copy command" />
        </div>
      )}
    </div>
  );
}

function Reason({ run: { reason, state } }: { readonly run: Run }) {
  if (reason === '') return null;
  return (
    <Notice tone={state === 'failed' ? 'danger' : 'warn'}>
      <UserText text={reason} charsMax={1000} />
    </Notice>
  );
}

function TabContent({ tab, ids, run }: { readonly tab: RunTab; readonly ids: RunIds; readonly run: Run }) {
  switch (tab) {
    case 'progress':
      return (
        <div className="flex flex-col gap-4">
          {run.state === 'completed' && run.options.last === 'report' && <Verdict ids={ids} stamp={stampOf(run)} />}
          <Progress run={run} />
        </div>
      );
    case 'check':
      return <CheckTab ids={ids} run={run} />;
    case 'rejected':
      return <RejectedRecords ids={ids} count={run.totals.rejected} />;
    case 'reconciliation':
      return <Reconciliation ids={ids} stamp={stampOf(run)} />;
    case 'preflight':
      return <PreflightTab ids={ids} run={run} />;
  }
}

function stampOf({ state, stage }: Run): string {
  return `${state} ${stage}`;
}

function CheckTab({ ids, run }: { readonly ids: RunIds; readonly run: Run }) {
  const isDone = isChecked(run);
  const check = useQuery({ ...checkQuery(ids), enabled: isDone, retry: false });
  if (isDone && check.data !== undefined) {
    return <CheckFindings ids={ids} check={check.data} run={run} showsProblems={false} />;
  }
  if (check.error !== null) return <ErrorState error={check.error} onRetry={() => void check.refetch()} />;
  if (isDone) return <Loading label="Loading check" />;
  if (isUnfinished(run.state)) return <RunStages run={run} />;
  return <EmptyState title="Not checked yet">Results appear here when the check is done.</EmptyState>;
}

function PreflightTab({ ids, run }: { readonly ids: RunIds; readonly run: Run }) {
  const hasResult = hasPreflight(run);
  const query = apiQuery<Preflight>(`${runPath(ids)}/preflight`);
  const preflight = useQuery({ ...query, enabled: hasResult, retry: false });
  if (!hasResult) {
    return run.options.preflight ? (
      <EmptyState title="No preflight yet">Results appear here when the preflight is done.</EmptyState>
    ) : (
      <EmptyState title="No preflight">This run was started without one.</EmptyState>
    );
  }
  if (preflight.data === undefined) {
    return preflight.error === null ? (
      <Loading label="Loading preflight" />
    ) : (
      <ErrorState error={preflight.error} onRetry={() => void preflight.refetch()} />
    );
  }
  return (
    <Section title="Preflight" flush>
      <PreflightList preflight={preflight.data} />
    </Section>
  );
}

/** Counts of records and events so far, and the settings of the run. */
function RunTotals({ run }: { readonly run: Run }) {
  const { totals, options } = run;
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Totals">
        <Facts
          facts={[
            ['Records', <NumberText key="n" value={totals.records} />],
            [
              'Skipped',
              <Counts key="n" counts={Object.fromEntries(skippedReasons(totals.skipped, totals.left_out))} />,
            ],
            ['Rejected', <NumberText key="n" value={totals.rejected} />],
            ['Events', <NumberText key="n" value={totals.events} />],
            ['Excluded by selection', <Counts key="n" counts={totals.left_out} />],
            ['Duplicates', <NumberText key="n" value={totals.duplicates} />],
            ...outcomeOf(run),
          ]}
        />
      </Section>
      <Section title="Settings of this run">
        <Facts
          facts={[
            ['Source', run.source],
            ['Format', options.format],
            ['Range', <Range key="range" options={options} />],
            ['Records', options.limit === null ? 'all' : `a trial of ${options.limit.toLocaleString('en')}`],
            ['Target', options.target.url === null ? 'this project' : <UserText key="t" text={options.target.url} />],
            ...(options.target.kind === 'project'
              ? []
              : [['Undo', 'not available: the events are in another service'] as const]),
            ['Speed', options.events_per_second === 0 ? 'unlimited' : `${options.events_per_second} events/s`],
            ['Error tolerance', `${(options.rejected_max * 100).toLocaleString('en')} %`],
            ['Transform', options.transform === null ? 'none' : <UserText key="x" text={options.transform.name} />],
            ['Started', <TimeText key="started" time={run.started_at} />],
            ['Finished', <TimeText key="finished" time={run.finished_at} />],
          ]}
        />
      </Section>
    </div>
  );
}

/** Returns the loaded and verified counts; after an undo nothing is loaded. */
function outcomeOf({ id, state, totals, stages }: Run): (readonly [string, ReactNode])[] {
  if (state === 'undone') {
    return [
      ['Loaded', <NumberText key="n" value={0} />],
      ['Undone', <NumberText key="n" value={stages.find(({ stage }) => stage === 'undo')?.done} />],
    ];
  }
  return [
    ['Loaded', <LoadedEvents key="n" run={id} count={totals.loaded} />],
    ['Verified', <NumberText key="n" value={totals.verified} />],
  ];
}

/** The number of loaded events, with a link to those that this project stores. */
function LoadedEvents({ run, count }: { readonly run: string; readonly count: number }) {
  const { id } = useProject();
  return (
    <>
      <NumberText value={count} />{' '}
      {count > 0 && (
        <Link
          to="/projects/$projectId/events"
          params={{ projectId: String(id) }}
          search={{ import_run: run }}
          className="text-accent underline"
        >
          Open in Events
        </Link>
      )}
    </>
  );
}

function Counts({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const entries = Object.entries(counts);
  const sum = entries.reduce((all, [, count]) => all + count, 0);
  return (
    <>
      <NumberText value={sum} />
      <ul className="text-soft">
        {entries.map(([reason, count]) => (
          <li key={reason}>
            <NumberText value={count} /> <UserText text={reason} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Range({ options: { from, to } }: { readonly options: Run['options'] }) {
  if (from === null && to === null) return 'all times';
  return (
    <>
      <TimeText time={from} /> to <TimeText time={to} />
    </>
  );
}
