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
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import {
  pluginInfo,
  settingsOf,
  type Transformation,
  transformationPath,
  transformationsPath,
} from './transformation-queries.ts';

const route = getRouteApi('/projects/$projectId/transformations/$configId');

/** The changes of the config, newest first, with its state at any time and a way to restore it. */
export function HistoryTab({ config }: { readonly config: Transformation }) {
  const { id: projectId } = useProject();
  const { at } = route.useSearch();
  const navigate = route.useNavigate();
  const path = projectPath(projectId, 'activity_log');
  const log = useInfiniteQuery(apiPages<ActivityEntry>(path, { scope: 'PluginConfig', item_id: String(config.id) }));
  const entries = useMemo(() => log.data && rowsOf<ActivityEntry>(log.data), [log.data]);
  const show = (time: string | undefined): void => void navigate({ search: { tab: 'history', at: time } });
  return (
    <div className="flex flex-col gap-4">
      <Field label="State at (local time)" hint="Compares the settings at that time with the current ones.">
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            step={1}
            className="max-w-60"
            value={at === undefined ? '' : timeInput(at)}
            onChange={(event) => show(timeOfInput(event.target.value))}
          />
        )}
      </Field>
      {entries === undefined && log.error === null && <Loading rows={5} label="Loading history" />}
      {entries === undefined && log.error !== null && (
        <ErrorState error={log.error} onRetry={() => void log.refetch()} />
      )}
      {entries?.length === 0 && <EmptyState title="No changes yet" />}
      <ol className="flex flex-col gap-3">
        {entries?.map((entry) => (
          <li key={entry.id}>
            <EntryCard entry={entry} onShow={() => show(entry.created_at)} />
          </li>
        ))}
      </ol>
      {log.hasNextPage && (
        <Button className="self-start" busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
          Older changes
        </Button>
      )}
      {at !== undefined && <PastStatePanel config={config} at={at} onClose={() => show(undefined)} />}
    </div>
  );
}

function EntryCard({ entry, onShow }: { readonly entry: ActivityEntry; readonly onShow: () => void }) {
  const { activity, user, is_system, created_at, detail } = entry;
  const who = is_system ? 'the service' : (user?.first_name ?? user?.email ?? 'unknown');
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
        <Button size="small" onClick={onShow}>
          Show state
        </Button>
      }
    >
      {detail.changes.length === 0 ? (
        <p className="text-sm text-soft">No changed fields.</p>
      ) : (
        <JsonDiff
          label={`Changes at ${created_at}`}
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

interface PastStatePanelProps {
  readonly config: Transformation;
  readonly at: string;
  readonly onClose: () => void;
}

function PastStatePanel({ config, at, onClose }: PastStatePanelProps) {
  const { id: projectId } = useProject();
  const canEdit = useHasRole('editor');
  const path = `${transformationPath(projectId, config.id)}/activity`;
  const past = useQuery(apiQuery<Transformation>(path, { at }));
  return (
    <SidePanel
      open
      onClose={onClose}
      title="State at that time"
      description={<TimeText time={at} form="exact" />}
      actions={canEdit && past.data !== undefined && <RestoreButton config={config} at={at} onDone={onClose} />}
    >
      {past.data === undefined && past.error === null && <Loading rows={5} label="Loading state" />}
      {past.data === undefined && past.error !== null && (
        <ErrorState error={past.error} onRetry={() => void past.refetch()} />
      )}
      {past.data !== undefined && (
        <JsonDiff before={shown(past.data)} after={shown(config)} beforeLabel="Then" afterLabel="Now" />
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

/** Restores the state of the config at a time, as a new change in its history. */
function RestoreButton({ config, at, onDone }: RestoreButtonProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [pending, setPending] = useState(false);
  const restore = useMutation({
    mutationFn: () => request(`${transformationPath(projectId, config.id)}/restore`, { method: 'POST', body: { at } }),
    onSuccess: async () => {
      setPending(false);
      await refresh(client, transformationsPath(projectId));
      await refresh(client, projectPath(projectId, 'activity_log'));
      toast.done('Restored. The previous state is in the history.');
      onDone();
    },
  });
  return (
    <>
      <Button kind="primary" size="small" onClick={() => setPending(true)}>
        Restore
      </Button>
      <ConfirmDialog
        open={pending}
        onClose={() => setPending(false)}
        onConfirm={() => restore.mutate()}
        title="Restore this state?"
        confirm="Restore"
        danger={false}
        busy={restore.isPending}
        error={restore.error}
      >
        <p>
          Restores settings, name, description, plugin version and whether it is enabled, as of{' '}
          <TimeText time={at} form="exact" />. The position in the chain and the current secrets are kept. You can undo
          this by restoring an earlier state from the history.
        </p>
      </ConfirmDialog>
    </>
  );
}

/** Formats an ISO time for a date-time input: local time, to the second. */
function timeInput(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Converts the value of a date-time input to ISO, or returns `undefined` if it is empty. */
function timeOfInput(value: string): string | undefined {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
