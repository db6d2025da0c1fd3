import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/request.ts';
import { Button, buttonStyle } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { counted } from '../../components/format-number.ts';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { isHeldByCheck, isUnfinished, RunStateBadge } from '../../components/run-state-badge.tsx';
import { Section } from '../../components/section.tsx';
import { UserText } from '../../components/user-text.tsx';
import { CheckFindings } from './check-findings.tsx';
import {
  configPath,
  controlRun,
  type Preflight,
  type Run,
  type RunIds,
  runQuery,
  startRun,
  useRun,
} from './imports-query.ts';
import { AgreementSection, LoadSection, useLoad } from './load-section.tsx';
import { PreflightList } from './preflight-list.tsx';
import { actionsOf, type RunAction } from './run-actions.ts';
import { checkQuery, eventsToLoad, isChecked } from './run-results.ts';
import { RunStages } from './run-stages.tsx';
import { WizardFooter } from './wizard-footer.tsx';

interface ReviewStepProps {
  readonly projectId: number;
  readonly configId: number;
  /** Id of the check run, once started. */
  readonly runId: string | undefined;
  /** Receives the id of a started check, or `undefined` to start over. */
  readonly onRun: (runId: string | undefined) => void;
  /** Opens the mapping. */
  readonly onMap: () => void;
}

/** Checks all records without loading them, shows the result and starts the load. */
export function ReviewStep({ projectId, configId, runId, onRun, onMap }: ReviewStepProps) {
  if (runId === undefined) return <PreflightPart {...{ projectId, configId, onRun, onMap }} />;
  const ids = { projectId, configId, runId };
  return <CheckPart key={runId} ids={ids} onAgain={() => onRun(undefined)} onMap={onMap} />;
}

function PreflightPart({ projectId, configId, onRun, onMap }: Omit<ReviewStepProps, 'runId'>) {
  const path = `${configPath(projectId, configId)}/preflight`;
  const preflight = useQuery({
    queryKey: [path],
    queryFn: () => request<Preflight>(path, { method: 'POST', body: { last: 'check' } }),
    retry: false,
  });
  const start = useMutation({
    mutationFn: () => startRun(projectId, configId, { last: 'check' }),
    onSuccess: (run) => onRun(run.id),
  });
  const isFailed = preflight.data?.verdict === 'failed';
  return (
    <div className="flex flex-col gap-4">
      <Section title="Preflight" description="Requirements of a run, checked without reading or loading data." flush>
        {preflight.isPending && <Loading rows={4} label="Running preflight" />}
        {preflight.error !== null && (
          <div className="p-4">
            <ErrorNote error={preflight.error} />
          </div>
        )}
        {preflight.data !== undefined && <PreflightList preflight={preflight.data} />}
      </Section>
      <ErrorNote error={start.error} />
      <WizardFooter
        onBack={onMap}
        onNext={() => (isFailed ? void preflight.refetch() : start.mutate())}
        next={isFailed ? 'Run preflight again' : 'Check all records'}
        busy={start.isPending || (isFailed && preflight.isFetching)}
      />
    </div>
  );
}

interface CheckPartProps {
  readonly ids: RunIds;
  readonly onAgain: () => void;
  readonly onMap: () => void;
}

/** The check run: its progress, then its result. */
function CheckPart({ ids, onAgain, onMap }: CheckPartProps) {
  const run = useRun(ids);
  const again = <WizardFooter onBack={onMap} onNext={onAgain} next="Check again" />;
  if (run.data === undefined) {
    if (run.error === null) return <Loading label="Loading check" />;
    return (
      <div className="flex flex-col gap-4">
        <ErrorState error={run.error} onRetry={() => void run.refetch()} />
        {again}
      </div>
    );
  }
  const { state, reason, options } = run.data;
  if (options.last === 'report') return <RunStarted ids={ids} run={run.data} />;
  if (isUnfinished(state)) return <CheckProgress ids={ids} run={run.data} onMap={onMap} />;
  return (
    <div className="flex flex-col gap-4">
      {isChecked(run.data) ? (
        <CheckResultPart ids={ids} run={run.data} onAgain={onAgain} onMap={onMap} />
      ) : (
        <>
          <Notice tone={state === 'cancelled' ? 'info' : 'danger'}>
            {state === 'cancelled' ? 'The check was cancelled.' : 'The check did not finish.'} Nothing has been loaded.
            {reason !== '' && state !== 'cancelled' && (
              <p>
                <UserText text={reason} charsMax={1000} />
              </p>
            )}
          </Notice>
          {again}
        </>
      )}
    </div>
  );
}

/** Shown when a browser returns to the review after the load has started. */
function RunStarted({ ids, run }: { readonly ids: RunIds; readonly run: Run }) {
  const params = { projectId: String(ids.projectId), configId: String(ids.configId), runId: ids.runId };
  return (
    <Section
      title={
        <>
          Run started <RunStateBadge run={run} />
        </>
      }
      actions={
        <Link
          to="/projects/$projectId/imports/$configId/runs/$runId"
          params={params}
          className={buttonStyle('primary')}
        >
          Open run
        </Link>
      }
    >
      <p className="text-sm">The run has its own page, with its progress, its result and what you can do next.</p>
    </Section>
  );
}

interface CheckProgressProps {
  readonly ids: RunIds;
  readonly run: Run;
  readonly onMap: () => void;
}

function CheckProgress({ ids, run, onMap }: CheckProgressProps) {
  const client = useQueryClient();
  const control = useMutation({
    mutationFn: (verb: 'resume' | 'cancel') => controlRun(ids, verb, verb === 'resume' ? {} : undefined),
    onSuccess: (changed) => client.setQueryData(runQuery(ids).queryKey, changed),
  });
  const isPaused = run.state === 'paused';
  return (
    <div className="flex flex-col gap-4">
      <RunStages run={run} />
      <p className="text-sm text-soft">
        The check continues if you leave this page. It loads nothing: you start the load here when it has finished.
      </p>
      <ErrorNote error={control.error} />
      <WizardFooter
        onBack={onMap}
        onNext={() => control.mutate(isPaused ? 'resume' : 'cancel')}
        next={isPaused ? 'Resume check' : 'Cancel check'}
        plain={!isPaused}
        busy={control.isPending}
      />
    </div>
  );
}

interface CheckResultPartProps extends CheckPartProps {
  readonly run: Run;
}

/** The result of the check, and what a load would do. The primary button starts the load, or resolves what prevents it. */
function CheckResultPart({ ids, run, onAgain, onMap }: CheckResultPartProps) {
  const check = useQuery({ ...checkQuery(ids), retry: false });
  const [isPending, setPending] = useState(false);
  const load = useLoad(ids, run);
  if (check.data === undefined) {
    return check.error === null ? (
      <Loading label="Loading check" />
    ) : (
      <ErrorState error={check.error} onRetry={() => void check.refetch()} />
    );
  }
  const events = eventsToLoad(check.data);
  const label = actionsOf(run)
    .map((action) => loadLabel(action, run, events))
    .find((text) => text !== undefined);
  const needsRules = label === undefined && isHeldByCheck(run);
  return (
    <>
      <CheckFindings ids={ids} check={check.data} run={run} showsProblems onPending={setPending} />
      {label !== undefined && (
        <>
          <LoadSection run={run} check={check.data} load={load} />
          <AgreementSection projectId={ids.projectId} source={run.source} events={events} />
        </>
      )}
      <ErrorNote error={load.error} />
      <WizardFooter
        onNext={label !== undefined ? () => load.mutate(undefined) : needsRules ? onMap : onAgain}
        next={label ?? (needsRules ? 'Change rules' : 'Check again')}
        disabled={isPending}
        busy={load.isPending && load.variables === undefined}
      >
        {isPending && <p className="grow text-sm text-soft">Apply the selected rules before you load.</p>}
        {(label !== undefined || needsRules) && <Button onClick={onAgain}>Check again</Button>}
        {!needsRules && <Button onClick={onMap}>Change rules</Button>}
      </WizardFooter>
    </>
  );
}

function loadLabel(action: RunAction, { totals }: Run, events: number): string | undefined {
  const amount = counted(events, 'event');
  if (action === 'load') return `Load ${amount}`;
  if (action === 'load_in_addition') return `Load ${amount} in addition`;
  return action === 'skip_rejected'
    ? `Skip ${totals.rejected.toLocaleString('en')} rejected and load ${amount}`
    : undefined;
}
