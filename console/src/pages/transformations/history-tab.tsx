import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { ActivityEntry } from '../../../../src/wire/contract/activity.ts';
import { apiPages, apiQuery, projectPath, refresh, rowsOf } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Field } from '../../components/field.tsx';
import { Input } from '../../components/input.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import {
  pluginInfo,
  settingsOf,
  type Transformation,
  transformationPath,
  transformationsPath,
} from './transformation-queries.ts';

const route = getRouteApi('/projects/$projectId/transformations/$configId');

/** Every change of it, newest first; as it stood at any time; back to that. */
export function HistoryTab({ config }: { readonly config: Transformation }) {
  const { id: projectId } = useProject();
  const { at } = route.useSearch();
  const navigate = route.useNavigate();
  const path = projectPath(projectId, 'activity_log');
  const log = useInfiniteQuery(apiPages<ActivityEntry>(path, { scope: 'PluginConfig', item_id: String(config.id) }));
  const entries = useMemo(() => log.data && rowsOf<ActivityEntry>(log.data), [log.data]);
  const look = (time: string | undefined): void => void navigate({ search: { tab: 'history', at: time } });
  return (
    <div className="flex flex-col gap-4">
      <Field label="As it stood at (your clock)" hint="Shows the settings of that time beside those of now.">
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            step={1}
            className="max-w-60"
            value={at === undefined ? '' : timeInput(at)}
            onChange={(event) => look(timeOfInput(event.target.value))}
          />
        )}
      </Field>
      {entries === undefined && log.error === null && <Loading rows={5} label="Loading the history" />}
      {entries === undefined && log.error !== null && (
        <ErrorState error={log.error} onRetry={() => void log.refetch()} />
      )}
      {entries?.length === 0 && <EmptyState title="No changes yet" />}
      <ol className="flex flex-col gap-3">
        {entries?.map((entry) => (
          <li key={entry.id}>
            <EntryCard entry={entry} onLook={() => look(entry.created_at)} />
          </li>
        ))}
      </ol>
      {log.hasNextPage && (
        <Button className="self-start" busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
          Older changes
        </Button>
      )}
      {at !== undefined && <ThenPanel config={config} at={at} onClose={() => look(undefined)} />}
    </div>
  );
}

function EntryCard({ entry, onLook }: { readonly entry: ActivityEntry; readonly onLook: () => void }) {
  const { activity, user, is_system, created_at, detail } = entry;
  const who = is_system ? 'the service' : (user?.first_name ?? user?.email ?? 'somebody');
  return (
    <Section
      title={activity.replaceAll('_', ' ')}
      label={`${activity.replaceAll('_', ' ')} ${created_at}`}
      description={
        <>
          <TimeText time={created_at} /> by <UserText text={who} charsMax={80} short />
        </>
      }
      actions={
        <Button size="small" onClick={onLook}>
          As it stood then
        </Button>
      }
    >
      {detail.changes.length === 0 ? (
        <p className="text-sm text-soft">No field changed.</p>
      ) : (
        <JsonDiff
          label={`Difference of ${created_at}`}
          before={fieldsOf(entry, 'before')}
          after={fieldsOf(entry, 'after')}
        />
      )}
    </Section>
  );
}

function fieldsOf({ detail }: ActivityEntry, side: 'before' | 'after'): Readonly<Record<string, unknown>> {
  const present = detail.changes.filter((change) => change[side] !== null && change[side] !== undefined);
  return Object.fromEntries(present.map((change) => [change.field, change[side]]));
}

interface ThenPanelProps {
  readonly config: Transformation;
  readonly at: string;
  readonly onClose: () => void;
}

function ThenPanel({ config, at, onClose }: ThenPanelProps) {
  const { id: projectId } = useProject();
  const mayEdit = useMay('editor');
  const path = `${transformationPath(projectId, config.id)}/activity`;
  const then = useQuery(apiQuery<Transformation>(path, { at }));
  return (
    <SidePanel
      open
      onClose={onClose}
      title="As it stood then"
      description={<TimeText time={at} form="exact" />}
      actions={mayEdit && then.data !== undefined && <RestoreButton config={config} at={at} onDone={onClose} />}
    >
      {then.data === undefined && then.error === null && <Loading rows={5} label="Loading the state" />}
      {then.data === undefined && then.error !== null && (
        <ErrorState error={then.error} onRetry={() => void then.refetch()} />
      )}
      {then.data !== undefined && (
        <JsonDiff before={shown(then.data)} after={shown(config)} beforeLabel="Then" afterLabel="Now" />
      )}
    </SidePanel>
  );
}

function shown(config: Transformation): Readonly<Record<string, unknown>> {
  const { name, description, enabled, deleted, order } = config;
  const { name: plugin, version } = pluginInfo(config);
  return { name, description, enabled, deleted, order, plugin, version, settings: settingsOf(config) };
}

interface RestoreButtonProps {
  readonly config: Transformation;
  readonly at: string;
  readonly onDone: () => void;
}

/** The config becomes as it stood at a time; that is one more change of its history. */
function RestoreButton({ config, at, onDone }: RestoreButtonProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [asked, setAsked] = useState(false);
  const restore = useMutation({
    mutationFn: () => request(`${transformationPath(projectId, config.id)}/restore`, { method: 'POST', body: { at } }),
    onSuccess: async () => {
      setAsked(false);
      await refresh(client, transformationsPath(projectId));
      await refresh(client, projectPath(projectId, 'activity_log'));
      toast.done('Restored. The state from before stands in the history.');
      onDone();
    },
  });
  return (
    <>
      <Button kind="primary" size="small" onClick={() => setAsked(true)}>
        Restore
      </Button>
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        onConfirm={() => restore.mutate()}
        title="Restore this state?"
        confirm="Restore"
        danger={false}
        busy={restore.isPending}
        error={restore.error}
      >
        <p>
          Settings, name, description, plugin version and whether it is on become as they stood at{' '}
          <TimeText time={at} form="exact" />. Its place in the chain stays. Secrets keep their present values. This is
          one more change in the history and can be taken back in the same way.
        </p>
      </ConfirmDialog>
    </>
  );
}

/** An ISO time as an input of the browser shows it: its own clock, to the second. */
function timeInput(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The other way round; undefined: no time. */
function timeOfInput(value: string): string | undefined {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
