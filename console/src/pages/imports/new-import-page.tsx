import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { classNames } from '../../components/class-names.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { isField, readSchema } from '../../components/schema-values.ts';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { AgreementStep } from './agreement-step.tsx';
import { CheckStep } from './check-step.tsx';
import { ConnectionStep } from './connection-step.tsx';
import { configQuery, settingsQuery, sourcesQuery, type Plugin } from './imports-query.ts';
import { wizardSteps, type WizardStep } from './new-import-search.ts';
import { PreviewStep } from './preview-step.tsx';
import { SourceStep } from './source-step.tsx';
import { checkQuery, eventsToLoad } from './run-results.ts';
import { StartStep } from './start-step.tsx';
import { useRun } from './use-run.ts';

const route = getRouteApi('/projects/$projectId/imports/new');

/** From the choice of a source to the start of its import; the address says how far one is. */
export function NewImportPage() {
  const { step = 'source' } = route.useSearch();
  const mayEdit = useMay('editor');
  return (
    <>
      <PageHeader title="New import" description="Nothing is sent before you start it at the end." />
      <Steps current={step} />
      {mayEdit ? (
        <Step step={step} />
      ) : (
        <EmptyState title="You may look, not import">An administrator can make you an editor.</EmptyState>
      )}
    </>
  );
}

const stepNames = {
  source: 'Source',
  connection: 'Connection',
  preview: 'Preview',
  check: 'Check',
  agreement: 'Agreement',
  start: 'Start',
} as const satisfies Record<WizardStep, string>;

/** How far one is; what lies behind can be gone back to. */
function Steps({ current }: { readonly current: WizardStep }) {
  const at = wizardSteps.indexOf(current);
  return (
    <ol aria-label="Steps" className="flex flex-wrap gap-x-4 gap-y-1 pb-4 text-sm">
      {wizardSteps.map((step, index) => (
        <li
          key={step}
          aria-current={step === current ? 'step' : undefined}
          className={classNames(index === at ? 'font-semibold text-accent' : index < at ? 'text-ink' : 'text-soft')}
        >
          {index < at ? (
            <route.Link to="." search={(before) => ({ ...before, step })} className="hover:underline">
              {index + 1}. {stepNames[step]}
            </route.Link>
          ) : (
            `${index + 1}. ${stepNames[step]}`
          )}
        </li>
      ))}
    </ol>
  );
}

function Step({ step }: { readonly step: WizardStep }) {
  const { id: projectId } = useProject();
  const navigate = route.useNavigate();
  const { source, config, run } = route.useSearch();
  const sources = useQuery(sourcesQuery(projectId));
  const stored = useQuery({ ...configQuery(projectId, config ?? 0), enabled: config !== undefined });
  const settings = useQuery({ ...settingsQuery(projectId, config ?? 0), enabled: config !== undefined });
  const go = (next: WizardStep, change: { config?: number; source?: string } = {}): void =>
    void navigate({ search: (before) => ({ ...before, ...change, step: next }) });
  const choose = (slug: string): void => void navigate({ search: { step: 'connection', source: slug } });
  if (step === 'source' || (source === undefined && config === undefined))
    return <SourceStep projectId={projectId} onChoose={choose} />;
  const plugin = sources.data?.results.find(({ id, slug }) =>
    config === undefined ? slug === source : id === stored.data?.plugin,
  );
  if (plugin === undefined || (config !== undefined && settings.data === undefined)) {
    // Only while there is nothing yet: a form that is being filled in outlives a request that fails.
    const error = sources.error ?? stored.error ?? settings.error;
    const again = (): void => void Promise.all([sources, stored, settings].map((query) => query.refetch()));
    return error === null ? <Loading /> : <ErrorState error={error} onRetry={again} />;
  }
  const values = settings.data ?? {};
  if (step === 'connection' || config === undefined) {
    return (
      <ConnectionStep
        key={config ?? plugin.slug}
        projectId={projectId}
        plugin={plugin}
        configId={config}
        stored={values}
        onBack={() => go('source')}
        onDone={(id) => go('preview', { config: id, source: plugin.slug })}
      />
    );
  }
  const common = { projectId, configId: config };
  if (step === 'preview') {
    const steps = {
      onBack: () => go('connection'),
      onDone: () => void navigate({ search: { step: 'check', source, config } }),
    };
    return <PreviewStep {...common} choices={formatsOf(plugin)} stored={values} {...steps} />;
  }
  const onRun = (next: string | undefined): void =>
    void navigate({ search: (before) => ({ ...before, run: next, step: 'check' }), replace: true });
  if (step === 'check' || run === undefined) {
    const steps = { onBack: () => go('preview'), onDone: () => go('agreement') };
    return <CheckStep {...common} runId={run} onRun={onRun} {...steps} />;
  }
  return <LastSteps {...common} runId={run} step={step} source={plugin.slug} onStep={go} />;
}

interface LastStepsProps {
  readonly projectId: number;
  readonly configId: number;
  readonly runId: string;
  readonly source: string;
  readonly step: 'agreement' | 'start';
  readonly onStep: (step: WizardStep) => void;
}

function LastSteps({ projectId, configId, runId, source, step, onStep }: LastStepsProps) {
  const navigate = route.useNavigate();
  const place = { projectId, configId, runId };
  const run = useRun(place);
  const check = useQuery(checkQuery(place));
  if (run.data === undefined || check.data === undefined) {
    const error = run.error ?? check.error;
    return error === null ? <Loading /> : <ErrorState error={error} />;
  }
  const events = eventsToLoad(check.data);
  if (step === 'agreement') {
    return (
      <AgreementStep
        projectId={projectId}
        source={source}
        events={events}
        onBack={() => onStep('check')}
        onDone={() => onStep('start')}
      />
    );
  }
  return (
    <StartStep
      projectId={projectId}
      configId={configId}
      run={run.data}
      events={events}
      onBack={() => onStep('agreement')}
      onStarted={({ id }) =>
        void navigate({
          to: '/projects/$projectId/imports/$configId/runs/$runId',
          params: { projectId: String(projectId), configId: String(configId), runId: id },
          search: {},
        })
      }
    />
  );
}

/** Formats that a source lets choose. */
function formatsOf(plugin: Plugin): readonly string[] {
  const field = readSchema(plugin.config_schema)
    .filter(isField)
    .find(({ key }) => key === 'format');
  return field?.choices ?? [];
}
