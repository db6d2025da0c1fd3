import { useMutation, useQuery } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/section.tsx';
import { UserText } from '../../components/user-text.tsx';
import { request } from '../../api/request.ts';
import { RejectedLink } from './check-problems.tsx';
import { CheckFindings } from './check-findings.tsx';
import { configPath, type Preflight, type Run, startRun, useRun } from './imports-query.ts';
import { PreflightList } from './preflight-list.tsx';
import { checkQuery, isChecked } from './run-results.ts';
import { actionsOf } from './run-actions.ts';
import { isHeldByCheck } from '../../components/run-state-badge.tsx';
import { RunStages } from './run-stages.tsx';
import { WizardFooter } from './wizard-footer.tsx';

interface CheckStepProps {
  readonly projectId: number;
  readonly configId: number;
  readonly runId: string | undefined;
  readonly onRun: (runId: string | undefined) => void;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

/** Reads, converts and checks all records without loading them. */
export function CheckStep({ projectId, configId, runId, onRun, onBack, onDone }: CheckStepProps) {
  const preflight = useQuery({
    queryKey: [`${configPath(projectId, configId)}/preflight`],
    queryFn: () =>
      request<Preflight>(`${configPath(projectId, configId)}/preflight`, { method: 'POST', body: { last: 'check' } }),
    retry: false,
    enabled: runId === undefined,
  });
  const start = useMutation({
    mutationFn: () => startRun(projectId, configId, { last: 'check' }),
    onSuccess: (run) => onRun(run.id),
  });
  if (runId !== undefined) {
    return (
      <Checked ids={{ projectId, configId, runId }} onAgain={() => onRun(undefined)} onBack={onBack} onDone={onDone} />
    );
  }
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
        onBack={onBack}
        onNext={() => start.mutate()}
        next="Check all records"
        busy={start.isPending}
        disabled={preflight.data?.verdict === 'failed'}
      >
        {preflight.data?.verdict === 'failed' && <Button onClick={() => void preflight.refetch()}>Run again</Button>}
      </WizardFooter>
    </div>
  );
}

interface CheckedProps {
  readonly ids: { readonly projectId: number; readonly configId: number; readonly runId: string };
  readonly onAgain: () => void;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

function Checked({ ids, onAgain, onBack, onDone }: CheckedProps) {
  const run = useRun(ids);
  const state = run.data?.state;
  const isEnded = state === 'completed' || state === 'failed';
  const hasResult = run.data !== undefined && isChecked(run.data);
  const check = useQuery({ ...checkQuery(ids), enabled: isEnded && hasResult, retry: false });
  return (
    <div className="flex flex-col gap-4">
      <ErrorNote error={run.error} />
      {run.data !== undefined && !isEnded && <RunStages run={run.data} />}
      {run.data?.reason !== undefined && run.data.reason !== '' && (
        <Notice tone="danger">
          <UserText text={run.data.reason} charsMax={1000} />
        </Notice>
      )}
      {isEnded && check.data !== undefined && run.data !== undefined && (
        <CheckFindings ids={ids} check={check.data} run={run.data} showsProblems />
      )}
      <ErrorNote error={check.error} />
      {isEnded && !hasResult && <EmptyState title="The check did not run">See the error above.</EmptyState>}
      <CheckedFooter {...{ ids, onAgain, onBack, onDone }} run={run.data} verdict={check.data?.verdict} />
    </div>
  );
}

interface CheckedFooterProps extends CheckedProps {
  readonly run: Run | undefined;
  /** `undefined` while unknown. */
  readonly verdict: 'passed' | 'failed' | undefined;
}

/** Offers to continue, or after a failed check the action that resolves it: skip rejected records, load anyway or change the rules. */
function CheckedFooter({ ids, run, verdict, onAgain, onBack, onDone }: CheckedFooterProps) {
  if (run === undefined || !isHeldByCheck(run)) {
    const isPassed = run?.state === 'completed' && verdict === 'passed';
    return (
      <WizardFooter onBack={onBack} onNext={onDone} next="Continue" disabled={!isPassed}>
        <Button onClick={onAgain}>Check again</Button>
      </WizardFooter>
    );
  }
  const [action] = actionsOf(run);
  const rejected = run.totals.rejected.toLocaleString('en');
  const rejectedLink = <RejectedLink ids={ids} rejected={run.totals.rejected} />;
  if (action !== 'skip_rejected' && action !== 'load_in_addition') {
    return (
      <WizardFooter onNext={onBack} next="Change rules">
        {rejectedLink}
      </WizardFooter>
    );
  }
  return (
    <WizardFooter
      onNext={onDone}
      next={
        action === 'skip_rejected' ? `Skip ${rejected} rejected and continue` : 'Load in addition to the earlier run'
      }
    >
      {rejectedLink}
      <Button onClick={onBack}>Change rules</Button>
    </WizardFooter>
  );
}
