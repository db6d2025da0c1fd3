import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button, buttonStyle } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { configPath, configQuery, configsPath, runsQuery, settingsQuery, type ImportConfig } from './imports-query.ts';
import { RunsTable } from './runs-table.tsx';
import { sourceName } from './source-name.ts';

const route = getRouteApi('/projects/$projectId/imports/$configId');
const pollMs = 5_000;

/** One import: its settings and its runs. */
export function ImportPage() {
  const { id: projectId } = useProject();
  const configId = Number(route.useParams().configId);
  const config = useQuery(configQuery(projectId, configId));
  if (config.data === undefined) {
    return (
      <>
        <PageHeader title="Import" />
        {config.error === null ? (
          <Loading />
        ) : (
          <ErrorState error={config.error} onRetry={() => void config.refetch()} />
        )}
      </>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="pb-1 text-sm">
          <Link
            to="/projects/$projectId/imports"
            params={{ projectId: String(projectId) }}
            className="text-soft hover:underline"
          >
            Imports
          </Link>
        </p>
        <PageHeader
          title="Import"
          heading={<UserText text={config.data.name} charsMax={80} short />}
          description={<UserText text={sourceName(config.data)} charsMax={100} short />}
          actions={<Actions config={config.data} />}
        />
      </div>
      {config.data.error !== '' && (
        <Notice tone="warn">
          <UserText text={config.data.error} />
        </Notice>
      )}
      <Runs projectId={projectId} configId={configId} />
      <Settings projectId={projectId} configId={configId} />
    </div>
  );
}

function Actions({ config }: { readonly config: ImportConfig }) {
  const { id } = useProject();
  const [pending, setPending] = useState(false);
  const canEdit = useHasRole('editor');
  const client = useQueryClient();
  const navigate = useNavigate();
  const params = { projectId: String(id) };
  const remove = useMutation({
    mutationFn: () => request(configPath(id, config.id), { method: 'DELETE' }),
    onSuccess: async () => {
      await navigate({ to: '/projects/$projectId/imports', params, search: { tab: 'imports' } });
      await refresh(client, configsPath(id));
    },
  });
  if (!canEdit) return null;
  const wizard = '/projects/$projectId/imports/new';
  return (
    <>
      <Button onClick={() => setPending(true)}>Delete</Button>
      <Link to={wizard} params={params} search={{ step: 'connect', config: config.id }} className={buttonStyle()}>
        Edit
      </Link>
      <Link
        to={wizard}
        params={params}
        search={{ step: 'review', config: config.id }}
        className={buttonStyle('primary')}
      >
        Run again
      </Link>
      <ConfirmDialog
        open={pending}
        onClose={() => setPending(false)}
        onConfirm={() => remove.mutate()}
        title="Delete this import?"
        confirm="Delete import"
        busy={remove.isPending}
        error={remove.error}
      >
        <p>The import moves to the bin. Events stored by its runs are kept.</p>
      </ConfirmDialog>
    </>
  );
}

function Runs({ projectId, configId }: { readonly projectId: number; readonly configId: number }) {
  const runs = useInfiniteQuery({ ...runsQuery(projectId, { config: configId }), refetchInterval: pollMs });
  const table = usePageRows(runs);
  return (
    <RunsTable
      projectId={projectId}
      {...table}
      empty={<EmptyState title="No runs yet">Start with a check, which does not load anything.</EmptyState>}
    />
  );
}

/** The stored settings; secrets are masked. */
function Settings({ projectId, configId }: { readonly projectId: number; readonly configId: number }) {
  const settings = useQuery(settingsQuery(projectId, configId));
  const entries = Object.entries(settings.data ?? {}).filter(([, value]) => value !== '' && value !== null);
  return (
    <Section title="Settings">
      {settings.error !== null && <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.isPending && <Loading rows={3} />}
      {settings.data !== undefined && entries.length === 0 && <p className="text-sm text-soft">No settings.</p>}
      <Facts
        facts={entries.map(([key, value]) => [
          key,
          <UserText key={key} text={typeof value === 'string' ? value : JSON.stringify(value)} />,
        ])}
      />
    </Section>
  );
}
