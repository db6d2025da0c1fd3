import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { PluginErrorListRecord } from '../../../../src/wire/contract/plugin-view.ts';
import { apiQuery } from '../../api/queries.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { Switch } from '../../components/switch.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UnsavedGuard } from '../../components/unsaved-guard.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { CodeTab } from './code-tab.tsx';
import { HistoryTab } from './history-tab.tsx';
import { LogsTab } from './logs-tab.tsx';
import { MetricsTab } from './metrics-tab.tsx';
import { replayMethodsOf } from './replay-queries.ts';
import { ReplayTab } from './replay-tab.tsx';
import { SettingsTab } from './settings-tab.tsx';
import { exampleEvent } from './test-event.ts';
import { TestTab } from './test-tab.tsx';
import {
  type PluginFiles,
  pluginInfo,
  pluginQuery,
  type Transformation,
  transformationPath,
  transformationQuery,
} from './transformation-queries.ts';
import type { TransformationTab } from './transformations-search.ts';
import { useChainChanges } from './use-chain-changes.ts';
import { useDraft } from './use-draft.ts';

const route = getRouteApi('/projects/$projectId/transformations/$configId');
const pollMs = 10_000;

/** One step of the chain: configuration, test, metrics, logs and history. */
export function TransformationPage() {
  const { id: projectId } = useProject();
  const { configId } = route.useParams();
  const config = useQuery({ ...transformationQuery(projectId, Number(configId)), refetchInterval: pollMs });
  if (config.data !== undefined) return <TransformationView key={configId} config={config.data} />;
  return (
    <>
      <PageHeader title="Transformation" />
      <div className="rounded-lg border border-line bg-surface">
        {config.error === null ? (
          <Loading rows={6} label="Loading transformation" />
        ) : (
          <ErrorState error={config.error} onRetry={() => void config.refetch()} />
        )}
      </div>
    </>
  );
}

function TransformationView({ config }: { readonly config: Transformation }) {
  const { tab = 'settings' } = route.useSearch();
  const navigate = route.useNavigate();
  const canEdit = useHasRole('editor');
  const draft = useDraft(config);
  const [eventText, setEventText] = useState(exampleEvent);
  const [files, setFiles] = useState<PluginFiles>();
  const plugin = useQuery(pluginQuery(useProject().id, config.plugin)).data;
  const replayMethods = replayMethodsOf(plugin);
  const tabs = [
    { value: 'settings', label: draft.dirty ? 'Configuration •' : 'Configuration' },
    ...(plugin?.is_built_in === false
      ? [{ value: 'code', label: files === undefined ? 'Code' : 'Code •' } as const]
      : []),
    ...(canEdit ? [{ value: 'test', label: 'Test' } as const] : []),
    ...(replayMethods.length > 0 ? [{ value: 'replay', label: 'Replay' } as const] : []),
    { value: 'metrics', label: 'Metrics' },
    { value: 'logs', label: 'Logs' },
    { value: 'errors', label: 'Errors' },
    { value: 'history', label: 'History' },
  ] as const satisfies readonly { value: TransformationTab; label: string }[];
  return (
    <>
      <TransformationHeader config={config} />
      <UnsavedGuard dirty={draft.dirty || files !== undefined} />
      <Tabs
        tabs={tabs}
        value={tab}
        onChange={(next) => void navigate({ search: next === 'settings' ? {} : { tab: next } })}
      >
        {tab === 'settings' && <SettingsTab config={config} draft={draft} />}
        {tab === 'code' && plugin !== undefined && (
          <CodeTab config={config} plugin={plugin} files={files} onFiles={setFiles} />
        )}
        {tab === 'test' && (
          <TestTab config={config} draft={draft} files={files} eventText={eventText} onEventText={setEventText} />
        )}
        {tab === 'replay' && plugin !== undefined && (
          <ReplayTab configId={config.id} enabled={config.enabled} methods={replayMethods} />
        )}
        {tab === 'metrics' && <MetricsTab id={config.id} />}
        {tab === 'logs' && <LogsTab id={config.id} />}
        {tab === 'errors' && <ErrorsTab id={config.id} />}
        {tab === 'history' && <HistoryTab config={config} />}
      </Tabs>
    </>
  );
}

function TransformationHeader({ config }: { readonly config: Transformation }) {
  const { id: projectId } = useProject();
  const canEdit = useHasRole('editor');
  const { toggle, restore } = useChainChanges(projectId);
  const plugin = pluginInfo(config);
  return (
    <>
      <p className="pb-1 text-sm">
        <Link
          to="/projects/$projectId/transformations"
          params={{ projectId: String(projectId) }}
          className="text-soft hover:underline"
        >
          Transformations
        </Link>
      </p>
      <PageHeader
        title={config.name}
        heading={<UserText text={config.name} charsMax={120} short />}
        description={
          <>
            <UserText text={plugin.name} charsMax={100} short /> <UserText text={plugin.version} charsMax={40} short />
            {config.description !== '' && (
              <>
                {' · '}
                <UserText text={config.description} charsMax={300} />
              </>
            )}
          </>
        }
        actions={
          !config.deleted && (
            <span className="flex items-center gap-2 text-sm">
              <span aria-hidden="true">{config.enabled ? 'Enabled' : 'Disabled'}</span>
              <Switch
                label="Enabled"
                checked={config.enabled}
                disabled={!canEdit}
                onChange={(enabled) => toggle(config, enabled)}
              />
            </span>
          )
        }
      />
      <div className="flex flex-col gap-2 pb-3 empty:hidden">
        {config.deleted && (
          <Notice tone="warn">
            This transformation is in the bin and does not run.{' '}
            {canEdit && (
              <button type="button" className="underline" onClick={() => restore(config)}>
                Restore
              </button>
            )}
          </Notice>
        )}
        {config.error !== '' && (
          <Notice tone="danger">
            <UserText text={config.error} charsMax={1000} />
          </Notice>
        )}
      </div>
    </>
  );
}

const errorsPollMs = 10_000;
type Failure = PluginErrorListRecord['results'][number];

/** Errors of the step, grouped, with sample events. */
function ErrorsTab({ id }: { readonly id: number }) {
  const { id: projectId } = useProject();
  const path = `${transformationPath(projectId, id)}/errors`;
  const errors = useQuery({ ...apiQuery<PluginErrorListRecord>(path), refetchInterval: errorsPollMs });
  if (errors.data === undefined) {
    if (errors.error === null) return <Loading rows={5} label="Loading errors" />;
    return <ErrorState error={errors.error} onRetry={() => void errors.refetch()} />;
  }
  const { results } = errors.data;
  if (results.length === 0) {
    return (
      <div className="rounded-lg border border-line bg-surface">
        <EmptyState title="No errors">
          If the code throws, the event is stored unchanged and the error appears here with the event.
        </EmptyState>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {results.map((failure) => (
        <FailureCard key={failure.id} failure={failure} />
      ))}
    </div>
  );
}

function FailureCard({ failure }: { readonly failure: Failure }) {
  const { name, message, method, count, first_seen, last_seen, stack, samples } = failure;
  return (
    <Section
      title={<UserText text={`${name}: ${message}`} charsMax={300} />}
      description={
        <>
          In <code>{method}</code>, <NumberText value={count} /> times, first <TimeText time={first_seen} />, last{' '}
          <TimeText time={last_seen} form="ago" />
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {stack !== '' && (
          <details>
            <summary className="text-sm">Stack trace</summary>
            <div className="pt-2">
              <CodeBlock code={stack} />
            </div>
          </details>
        )}
        {samples.map((sample, index) => (
          <details key={index} open={index === 0}>
            <summary className="text-sm">
              Event <TimeText time={typeof sample['time'] === 'string' ? sample['time'] : null} form="exact" />
            </summary>
            <div className="pt-2">
              <JsonView value={sample['event'] ?? sample} />
            </div>
          </details>
        ))}
      </div>
    </Section>
  );
}
