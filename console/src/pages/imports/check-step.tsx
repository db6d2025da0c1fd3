import { useMutation, useQuery } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/section.tsx';
import { UserText } from '../../components/user-text.tsx';
import { request } from '../../api/request.ts';
import { RejectedLink } from './check-held.tsx';
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

/** Everything is fetched, converted and examined; nothing is sent. */
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
      <Checked
        place={{ projectId, configId, runId }}
        onAgain={() => onRun(undefined)}
        onBack={onBack}
        onDone={onDone}
      />
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <Section title="Preflight" description="What a run would need, looked at without fetching or sending." flush>
        {preflight.isPending && <Loading rows={4} label="Looking" />}
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
        {preflight.data?.verdict === 'failed' && <Button onClick={() => void preflight.refetch()}>Look again</Button>}
      </WizardFooter>
    </div>
  );
}

interface CheckedProps {
  readonly place: { readonly projectId: number; readonly configId: number; readonly runId: string };
  readonly onAgain: () => void;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

function Checked({ place, onAgain, onBack, onDone }: CheckedProps) {
  const run = useRun(place);
  const state = run.data?.state;
  const isOver = state === 'completed' || state === 'failed';
  const isThere = run.data !== undefined && isChecked(run.data);
  const check = useQuery({ ...checkQuery(place), enabled: isOver && isThere, retry: false });
  return (
    <div className="flex flex-col gap-4">
      <ErrorNote error={run.error} />
      {run.data !== undefined && !isOver && <RunStages run={run.data} />}
      {run.data?.reason !== undefined && run.data.reason !== '' && (
        <Notice tone="danger">
          <UserText text={run.data.reason} charsMax={1000} />
        </Notice>
      )}
      {check.data !== undefined && run.data !== undefined && <CheckFindings check={check.data} run={run.data} />}
      <ErrorNote error={check.error} />
      {isOver && !isThere && <EmptyState title="The check did not run">See the error above.</EmptyState>}
      <CheckedFooter {...{ place, onAgain, onBack, onDone }} run={run.data} verdict={check.data?.verdict} />
    </div>
  );
}

interface CheckedFooterProps extends CheckedProps {
  readonly run: Run | undefined;
  /** Undefined: not known yet. */
  readonly verdict: 'passed' | 'failed' | undefined;
}

/** A check that failed can be continued with what it needs; where nothing helps but other rules, these are the way on. */
function CheckedFooter({ place, run, verdict, onAgain, onBack, onDone }: CheckedFooterProps) {
  if (run === undefined || !isHeldByCheck(run)) {
    const isPassed = run?.state === 'completed' && verdict === 'passed';
    return (
      <WizardFooter onBack={onBack} onNext={onDone} next="Continue to the agreement" disabled={!isPassed}>
        <Button onClick={onAgain}>Check again</Button>
      </WizardFooter>
    );
  }
  const [way] = actionsOf(run);
  const rejected = run.totals.rejected.toLocaleString('en');
  const rejectedLink = <RejectedLink place={place} rejected={run.totals.rejected} />;
  if (way !== 'skip_rejected' && way !== 'load_beside') {
    return (
      <WizardFooter onNext={onBack} next="Change the rules">
        {rejectedLink}
      </WizardFooter>
    );
  }
  return (
    <WizardFooter
      onNext={onDone}
      next={way === 'skip_rejected' ? `Skip ${rejected} rejected and continue` : 'Load beside the earlier run'}
    >
      {rejectedLink}
      <Button onClick={onBack}>Change the rules</Button>
    </WizardFooter>
  );
}
