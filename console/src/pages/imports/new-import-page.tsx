import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { lazy, type ReactNode, type RefObject, Suspense, useLayoutEffect, useRef } from 'react';
import { classNames } from '../../components/class-names.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { ConnectStep, SourceTiles } from './connect-step.tsx';
import { configQuery, settingsQuery, sourcesQuery } from './imports-query.ts';
import { type WizardStep, wizardSteps } from './imports-search.ts';

const route = getRouteApi('/projects/$projectId/imports/new');

// Every import begins with the first step.
const MapStep = lazy(async () => ({ default: (await import('./map-step.tsx')).MapStep }));
const ReviewStep = lazy(async () => ({ default: (await import('./review-step.tsx')).ReviewStep }));

/** The import wizard. The current step and its objects are in the URL. */
export function NewImportPage() {
  const { step: wanted = 'connect', config: configId } = route.useSearch();
  const { id: projectId } = useProject();
  const canEdit = useHasRole('editor');
  const config = useQuery({ ...configQuery(projectId, configId ?? 0), enabled: configId !== undefined });
  // The other steps need a saved import.
  const step = configId === undefined ? 'connect' : wanted;
  return (
    <>
      <PageHeader
        title="New import"
        heading={config.data === undefined ? 'New import' : <UserText text={config.data.name} charsMax={80} short />}
        description="Nothing is loaded until you start the load in the last step."
      />
      <Steps current={step} />
      {canEdit ? (
        <Suspense fallback={<Loading />}>
          <Step step={step} />
        </Suspense>
      ) : (
        <EmptyState title="No permission to import">Ask an administrator for the editor role.</EmptyState>
      )}
    </>
  );
}

const stepNames = { connect: 'Connect', map: 'Map', review: 'Review' } as const satisfies Record<WizardStep, string>;

/** The steps of the wizard; completed ones are links. */
function Steps({ current }: { readonly current: WizardStep }) {
  const at = wizardSteps.indexOf(current);
  const ref = useStartOfStep(current);
  return (
    <ol ref={ref} tabIndex={-1} aria-label="Steps" className="flex items-center pb-4 text-sm outline-none">
      {wizardSteps.map((step, index) => (
        <li key={step} aria-current={step === current ? 'step' : undefined} className="flex items-center">
          {index > 0 && <span aria-hidden="true" className="mx-2 h-px w-4 bg-line sm:mx-3 sm:w-10" />}
          {index < at ? (
            <route.Link
              to="."
              search={(before) => ({ ...before, step })}
              className="flex items-center gap-2 hover:underline"
            >
              <StepMark className="border-accent text-accent">
                <Check aria-hidden="true" className="size-3" />
              </StepMark>
              {stepNames[step]}
              <span className="sr-only">(done)</span>
            </route.Link>
          ) : (
            <span className={classNames('flex items-center gap-2', index === at ? 'font-semibold' : 'text-soft')}>
              <StepMark className={index === at ? 'border-transparent bg-accent text-accent-ink' : 'border-line'}>
                {index + 1}
              </StepMark>
              {stepNames[step]}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

/** Moves focus and view to the start of a step, as a page load does. */
function useStartOfStep(step: WizardStep): RefObject<HTMLOListElement | null> {
  const { source } = route.useSearch();
  const ref = useRef<HTMLOListElement>(null);
  const shown = `${step} ${source}`;
  const before = useRef(shown);
  useLayoutEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    ref.current?.focus({ preventScroll: true });
    ref.current?.closest('#main')?.scrollTo({ top: 0 });
  }, [shown]);
  return ref;
}

function StepMark({ className, children }: { readonly className: string; readonly children: ReactNode }) {
  return (
    <span className={classNames('grid size-5 place-items-center rounded-full border text-xs font-semibold', className)}>
      {children}
    </span>
  );
}

function Step({ step }: { readonly step: WizardStep }) {
  const { id: projectId } = useProject();
  const navigate = route.useNavigate();
  const { source, config: configId, run } = route.useSearch();
  const sources = useQuery(sourcesQuery(projectId));
  const config = useQuery({ ...configQuery(projectId, configId ?? 0), enabled: configId !== undefined });
  const settings = useQuery({ ...settingsQuery(projectId, configId ?? 0), enabled: configId !== undefined });
  const needed = configId === undefined ? [sources] : [sources, config, settings];
  if (sources.data === undefined || needed.some(({ data }) => data === undefined)) {
    // Only before the first data arrives: a failed refetch must not replace a form with input.
    const error = needed.find((query) => query.error !== null)?.error;
    const retry = (): void => void Promise.all(needed.map((query) => query.refetch()));
    return error === undefined ? <Loading /> : <ErrorState error={error} onRetry={retry} />;
  }
  const plugin = sources.data.results.find(({ id, slug }) =>
    configId === undefined ? slug === source : id === config.data?.plugin,
  );
  if (plugin === undefined) {
    const choose = (slug: string): void => void navigate({ search: { step: 'connect', source: slug } });
    return <SourceTiles projectId={projectId} sources={sources.data.results} onChoose={choose} />;
  }
  const go = (next: WizardStep, change: { config?: number; run?: undefined } = {}): void =>
    void navigate({ search: (before) => ({ ...before, step: next, ...change }) });
  const stored = settings.data ?? {};
  if (step === 'connect' || configId === undefined) {
    // An import that was opened by "Edit" keeps its source.
    const canChange = configId === undefined || source !== undefined;
    return (
      <ConnectStep
        key={configId ?? plugin.slug}
        {...{ projectId, plugin, configId, stored }}
        onChangeSource={canChange ? () => void navigate({ search: { step: 'connect' } }) : undefined}
        // Uploaded files may have changed, although the settings have not.
        onDone={(id) => go('map', { config: id, run: undefined })}
      />
    );
  }
  const common = { projectId, configId };
  if (step === 'map') {
    const name = config.data?.name ?? '';
    const steps = {
      onBack: () => go('connect'),
      onDone: (isChanged: boolean) => go('review', isChanged ? { run: undefined } : {}),
    };
    return <MapStep {...common} {...{ plugin, name, stored }} {...steps} />;
  }
  const onRun = (next: string | undefined): void =>
    void navigate({ search: (before) => ({ ...before, run: next }), replace: true });
  return <ReviewStep {...common} runId={run} onRun={onRun} onMap={() => go('map')} />;
}
