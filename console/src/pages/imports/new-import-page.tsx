import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { classNames } from '../../components/class-names.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Input } from '../../components/input.tsx';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { isField, readSchema } from '../../components/schema-values.ts';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { AgreementStep } from './agreement-step.tsx';
import { CheckStep } from './check-step.tsx';
import { ConnectionStep } from './connection-step.tsx';
import {
  configQuery,
  formatsQuery,
  historicalSettingsQuery,
  type Plugin,
  type Run,
  runQuery,
  settingsQuery,
  sourcesQuery,
  startRun,
  controlRun,
  useRun,
} from './imports-query.ts';
import { type WizardStep, wizardSteps } from './imports-search.ts';
import { PreviewStep } from './preview-step.tsx';
import { loadBody } from './run-actions.ts';
import { checkQuery, eventsToLoad } from './run-results.ts';
import { sourceGroups, type SourceTile, sourceTiles } from './source-tiles.ts';
import { WizardFooter } from './wizard-footer.tsx';

const route = getRouteApi('/projects/$projectId/imports/new');

/** The import wizard, from source to start. The current step is in the URL. */
export function NewImportPage() {
  const { step = 'source' } = route.useSearch();
  const canEdit = useHasRole('editor');
  return (
    <>
      <PageHeader title="New import" description="Nothing is loaded until you start the import in the last step." />
      <Steps current={step} />
      {canEdit ? (
        <Step step={step} />
      ) : (
        <EmptyState title="No permission to import">Ask an administrator for the editor role.</EmptyState>
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

/** Tells whether the wizard has a step for the agreement: only where history is limited. */
function useNeedsAgreement(): boolean {
  const { data } = useQuery(historicalSettingsQuery(useProject().id));
  return data?.mode === 'required';
}

/** The steps of the wizard; completed ones are links. */
function Steps({ current }: { readonly current: WizardStep }) {
  const needsAgreement = useNeedsAgreement();
  const steps = wizardSteps.filter((step) => step !== 'agreement' || needsAgreement || current === 'agreement');
  const at = steps.indexOf(current);
  return (
    <ol aria-label="Steps" className="flex flex-wrap gap-x-4 gap-y-1 pb-4 text-sm">
      {steps.map((step, index) => (
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
  const needsAgreement = useNeedsAgreement();
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
    // Only before the first data arrives: a failed refetch must not replace a form with input.
    const error = sources.error ?? stored.error ?? settings.error;
    const retry = (): void => void Promise.all([sources, stored, settings].map((query) => query.refetch()));
    return error === null ? <Loading /> : <ErrorState error={error} onRetry={retry} />;
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
    const name = stored.data?.name ?? '';
    return <PreviewStep {...common} {...{ plugin, name }} choices={formatsOf(plugin)} stored={values} {...steps} />;
  }
  const onRun = (next: string | undefined): void =>
    void navigate({ search: (before) => ({ ...before, run: next, step: 'check' }), replace: true });
  if (step === 'check' || run === undefined) {
    const steps = { onBack: () => go('preview'), onDone: () => go(needsAgreement ? 'agreement' : 'start') };
    return <CheckStep {...common} runId={run} onRun={onRun} {...steps} />;
  }
  return <LastSteps {...common} {...{ step, needsAgreement }} runId={run} source={plugin.slug} onStep={go} />;
}

interface LastStepsProps {
  readonly projectId: number;
  readonly configId: number;
  readonly runId: string;
  readonly source: string;
  readonly step: 'agreement' | 'start';
  readonly needsAgreement: boolean;
  readonly onStep: (step: WizardStep) => void;
}

function LastSteps({ projectId, configId, runId, source, step, needsAgreement, onStep }: LastStepsProps) {
  const navigate = route.useNavigate();
  const ids = { projectId, configId, runId };
  const run = useRun(ids);
  const check = useQuery(checkQuery(ids));
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
      onBack={() => onStep(needsAgreement ? 'agreement' : 'check')}
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

/** Returns the formats that a source supports. */
function formatsOf(plugin: Plugin): readonly string[] {
  const field = readSchema(plugin.config_schema)
    .filter(isField)
    .find(({ key }) => key === 'format');
  return field?.choices ?? [];
}

interface SourceStepProps {
  readonly projectId: number;
  readonly onChoose: (slug: string) => void;
}

/** Selects the source of the history. */
function SourceStep({ projectId, onChoose }: SourceStepProps) {
  const sources = useQuery(sourcesQuery(projectId));
  const formats = useQuery(formatsQuery(projectId));
  const [search, setSearch] = useState('');
  if (sources.data === undefined) {
    return sources.error === null ? (
      <Loading label="Loading sources" />
    ) : (
      <ErrorState error={sources.error} onRetry={() => void sources.refetch()} />
    );
  }
  const wanted = search.toLowerCase();
  const apps = sources.data.results.filter(({ capabilities }) => capabilities.methods.includes('importEvents'));
  const tiles = sourceTiles(apps, formats.data?.results ?? []).filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );
  return (
    <div className="flex flex-col gap-3">
      <Input
        type="search"
        aria-label="Search sources"
        placeholder="Search sources"
        className="sm:max-w-60"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      {tiles.length === 0 && (
        <EmptyState title="No matching sources">Use Files to import an export of any tool.</EmptyState>
      )}
      {sourceGroups.map((group) => (
        <TileGroup key={group} title={group} tiles={tiles.filter((tile) => tile.group === group)} onChoose={onChoose} />
      ))}
    </div>
  );
}

interface TileGroupProps {
  readonly title: string;
  readonly tiles: readonly SourceTile[];
  readonly onChoose: (slug: string) => void;
}

function TileGroup({ title, tiles, onChoose }: TileGroupProps) {
  if (tiles.length === 0) return null;
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">{title}</h2>
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {tiles.map(({ slug, name, description }) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => onChoose(slug)}
              className="flex size-full flex-col gap-1 rounded-lg border border-line bg-surface p-4 text-left hover:border-accent hover:bg-hover"
            >
              <span className="font-medium">
                <UserText text={name} charsMax={80} short />
              </span>
              <span className="line-clamp-3 text-sm text-soft">
                <UserText text={description} charsMax={220} short />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface StartStepProps {
  readonly projectId: number;
  readonly configId: number;
  /** The check run. */
  readonly run: Run;
  /** Number of events to load. */
  readonly events: number;
  readonly onBack: () => void;
  readonly onStarted: (run: Run) => void;
}

/** Starts the load, optionally as a trial first. */
function StartStep({ projectId, configId, run, events, onBack, onStarted }: StartStepProps) {
  const client = useQueryClient();
  const [records, setRecords] = useState('1000');
  const limit = Number(records);
  const ids = { projectId, configId, runId: run.id };
  const start = useMutation({
    mutationFn: (kind: 'all' | 'trial') =>
      kind === 'all'
        ? controlRun(ids, 'resume', loadBody(run))
        : startRun(projectId, configId, { last: 'report', limit }),
    onSuccess: (started) => {
      // Without this the run page would show the cached check run, which has ended.
      client.setQueryData(runQuery({ ...ids, runId: started.id }).queryKey, started);
      onStarted(started);
    },
  });
  const isLimit = Number.isSafeInteger(limit) && limit >= 1;
  return (
    <div className="flex flex-col gap-4">
      <Section title="Start">
        <p className="text-sm">
          <NumberText value={events} /> events of <NumberText value={run.totals.records} /> records will be loaded;{' '}
          <NumberText value={run.totals.duplicates} /> duplicates and <NumberText value={run.totals.rejected} />{' '}
          rejected records are skipped. You can pause the run at any time and undo it afterwards.
        </p>
      </Section>
      <details className="rounded-lg border border-line bg-surface p-4 text-sm">
        <summary className="cursor-pointer font-semibold">Start with a trial of a few records</summary>
        <div className="flex flex-wrap items-end gap-3 pt-3">
          <TextInput label="Records" inputMode="numeric" value={records} onChange={setRecords} />
          <Button
            disabled={!isLimit}
            busy={start.isPending && start.variables === 'trial'}
            onClick={() => start.mutate('trial')}
          >
            Start trial
          </Button>
        </div>
      </details>
      <ErrorNote error={start.error} />
      <WizardFooter
        onBack={onBack}
        onNext={() => start.mutate('all')}
        next="Start import"
        busy={start.isPending && start.variables === 'all'}
      />
    </div>
  );
}
