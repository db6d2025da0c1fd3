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
import { isHeldByCheck, RunStateBadge } from '../../components/run-state-badge.tsx';
import { Section } from '../../components/section.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { CheckFindings } from './check-findings.tsx';
import { CheckHeld } from './check-held.tsx';
import type { RunTab } from './imports-search.ts';
import { configQuery, ofCommands, type Preflight, type Run, runPath, type RunPlace, useRun } from './imports-query.ts';
import { PreflightList } from './preflight-list.tsx';
import { Reconciliation, ReportLink, Verdict } from './reconciliation.tsx';
import { RejectedRecords } from './rejected-records.tsx';
import { checkQuery, isChecked, isPreflown } from './run-results.ts';
import { RunStages } from './run-stages.tsx';
import { RunSteering } from './run-steering.tsx';

const route = getRouteApi('/projects/$projectId/imports/$configId/runs/$runId');

const tabs: readonly { readonly value: RunTab; readonly label: string }[] = [
  { value: 'progress', label: 'Progress' },
  { value: 'check', label: 'Check' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'reconciliation', label: 'Reconciliation' },
  { value: 'preflight', label: 'Preflight' },
];

/** One run: how far it is, what it found, and what one may do with it. */
export function ImportRunPage() {
  const { id: projectId } = useProject();
  const { configId, runId } = route.useParams();
  const { tab = 'progress' } = route.useSearch();
  const navigate = route.useNavigate();
  const place = { projectId, configId: Number(configId), runId };
  const run = useRun(place);
  const isCommand = place.configId === ofCommands;
  const config = useQuery({ ...configQuery(projectId, place.configId), enabled: !isCommand });
  const name = isCommand ? 'Command line' : (config.data?.name ?? 'Import');
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
      <Breadcrumb place={place} name={name} />
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
            {!isCommand && <ReportLink place={place} />}
            <RunSteering place={place} run={run.data} />
          </>
        }
      />
      <WhatHolds run={run.data} />
      {isCommand ? (
        <CommandRun run={run.data} />
      ) : (
        <Tabs
          tabs={tabs}
          value={tab}
          onChange={(next) => void navigate({ search: next === 'progress' ? {} : { tab: next }, replace: true })}
        >
          <Shown tab={tab} place={place} run={run.data} />
        </Tabs>
      )}
    </>
  );
}

/** Runs of the command line have no import of their own to lead to. */
function Breadcrumb({ place: { projectId, configId }, name }: { readonly place: RunPlace; readonly name: string }) {
  const params = { projectId: String(projectId), configId: String(configId) };
  return (
    <p className="pb-1 text-sm text-soft">
      <Link to="/projects/$projectId/imports" params={{ projectId: params.projectId }} className="hover:underline">
        Imports
      </Link>
      {' / '}
      {configId === ofCommands ? (
        name
      ) : (
        <Link to="/projects/$projectId/imports/$configId" params={params} className="hover:underline">
          <UserText text={name} charsMax={60} short />
        </Link>
      )}
    </p>
  );
}

/** The service knows how far it is; what it found is kept by its command. */
function CommandRun({ run }: { readonly run: Run }) {
  return (
    <div className="flex flex-col gap-4">
      <Progress run={run} />
      <Section title="Check, rejected records and report" description="Kept where the command was started.">
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

/** Why it does not move, when it does not. */
function WhatHolds({ run }: { readonly run: Run }) {
  return (
    <div className="flex flex-col gap-2 pb-3 empty:hidden">
      {run.waiting !== null && (
        <Notice tone="info">
          It waits and continues by itself: <UserText text={run.waiting.reason} />
          {run.waiting.until !== null && (
            <>
              {' '}
              Until <TimeText time={run.waiting.until} />.
            </>
          )}
        </Notice>
      )}
      {isHeldByCheck(run) ? <CheckHeld run={run} /> : <Reason run={run} />}
      {run.command !== null && (run.state === 'paused' || run.state === 'failed') && run.stage !== 'undo' && (
        <div className="text-sm">
          <p className="pb-1 text-soft">Resume it with this command, where it was started:</p>
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

function Shown({ tab, place, run }: { readonly tab: RunTab; readonly place: RunPlace; readonly run: Run }) {
  switch (tab) {
    case 'progress':
      return (
        <div className="flex flex-col gap-4">
          {run.state === 'completed' && run.options.last === 'report' && <Verdict place={place} stamp={stampOf(run)} />}
          <Progress run={run} />
        </div>
      );
    case 'check':
      return <CheckTab place={place} run={run} />;
    case 'rejected':
      return <RejectedRecords place={place} count={run.totals.rejected} />;
    case 'reconciliation':
      return <Reconciliation place={place} stamp={stampOf(run)} />;
    case 'preflight':
      return <PreflightTab place={place} run={run} />;
  }
}

function stampOf({ state, stage }: Run): string {
  return `${state} ${stage}`;
}

function CheckTab({ place, run }: { readonly place: RunPlace; readonly run: Run }) {
  const isDone = isChecked(run);
  const check = useQuery({ ...checkQuery(place), enabled: isDone, retry: false });
  if (check.data !== undefined) return <CheckFindings check={check.data} run={run} />;
  if (check.error !== null) return <ErrorState error={check.error} onRetry={() => void check.refetch()} />;
  if (isDone) return <Loading label="Loading the check" />;
  return <EmptyState title="Not checked yet">What the check finds stands here as soon as it is done.</EmptyState>;
}

function PreflightTab({ place, run }: { readonly place: RunPlace; readonly run: Run }) {
  const isThere = isPreflown(run);
  const query = apiQuery<Preflight>(`${runPath(place)}/preflight`);
  const preflight = useQuery({ ...query, enabled: isThere, retry: false });
  if (!isThere) {
    return run.options.preflight ? (
      <EmptyState title="Not looked yet">What the preflight finds stands here as soon as it is done.</EmptyState>
    ) : (
      <EmptyState title="No preflight">This run was started without one.</EmptyState>
    );
  }
  if (preflight.data === undefined) {
    return preflight.error === null ? (
      <Loading label="Loading the preflight" />
    ) : (
      <ErrorState error={preflight.error} onRetry={() => void preflight.refetch()} />
    );
  }
  return (
    <Section title="Looked at before anything was fetched" flush>
      <PreflightList preflight={preflight.data} />
    </Section>
  );
}

/** What has come of the records so far. */
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
            ['Skipped by choice', <Counts key="n" counts={totals.left_out} />],
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
              : [['Undo', 'not from here: only the other service can take the events back'] as const]),
            ['Speed', options.events_per_second === 0 ? 'as fast as it goes' : `${options.events_per_second} events/s`],
            ['May be rejected', `${(options.rejected_max * 100).toLocaleString('en')} %`],
            ['Transform', options.transform === null ? 'none' : <UserText key="x" text={options.transform.name} />],
            ['Started', <TimeText key="made" time={run.started_at} />],
            ['Finished', <TimeText key="over" time={run.finished_at} />],
          ]}
        />
      </Section>
    </div>
  );
}

/** After an undo nothing of it is loaded any more. */
function outcomeOf({ state, totals, stages }: Run): (readonly [string, ReactNode])[] {
  if (state === 'undone') {
    return [
      ['Loaded', <NumberText key="n" value={0} />],
      ['Undone', <NumberText key="n" value={stages.find(({ stage }) => stage === 'undo')?.done} />],
    ];
  }
  return [
    ['Loaded', <NumberText key="n" value={totals.loaded} />],
    ['Found in the store', <NumberText key="n" value={totals.verified} />],
  ];
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
