import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { actorOf, configPageOf, entryQuery, sideOf, type ActivityDetail } from './activity-query.ts';

interface ActivityPanelProps {
  readonly id: string | undefined;
  readonly onClose: () => void;
}

/** One change: every field before and after, and the item as it stood then. */
export function ActivityPanel({ id, onClose }: ActivityPanelProps) {
  return id === undefined ? null : <OpenPanel id={id} onClose={onClose} />;
}

function OpenPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const project = useProject();
  const entry = useQuery(entryQuery(project.id, id));
  const { data } = entry;
  const title = data === undefined ? 'Change' : <UserText text={`${data.activity}: ${data.detail.name}`} short />;
  return (
    <SidePanel open onClose={onClose} title={title}>
      {data === undefined && entry.error === null && <Loading label="Loading the change" />}
      {data === undefined && entry.error !== null && (
        <ErrorState error={entry.error} onRetry={() => void entry.refetch()} />
      )}
      {data !== undefined && <EntryDetails entry={data} />}
    </SidePanel>
  );
}

function EntryDetails({ entry }: { readonly entry: ActivityDetail }) {
  const { changes } = entry.detail;
  return (
    <>
      <Facts
        facts={[
          ['When', <TimeText key="when" time={entry.created_at} form="exact" />],
          ['Who', <UserText key="who" text={actorOf(entry)} />],
          ['Item', <UserText key="item" text={`${entry.scope} ${entry.item_id}`} />],
          ['Request', <UserText key="request" text={entry.request_id ?? '–'} />],
        ]}
      />
      <h3 className="text-sm font-semibold">Changed fields</h3>
      {changes.length === 0 ? (
        <EmptyState title="No field was changed">It was something done with the item, not a change of it.</EmptyState>
      ) : (
        <JsonDiff before={sideOf(changes, 'before')} after={sideOf(changes, 'after')} />
      )}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="text-sm font-semibold">As it stood then</h3>
        <ConfigLink entry={entry} />
      </div>
      <JsonView value={entry.snapshot} />
    </>
  );
}

function ConfigLink({ entry }: { readonly entry: ActivityDetail }) {
  const { id } = useProject();
  const page = configPageOf(entry);
  if (page === undefined) return null;
  return (
    <Link
      to={
        page === 'transformations'
          ? '/projects/$projectId/transformations/$configId'
          : '/projects/$projectId/imports/$configId'
      }
      params={{ projectId: String(id), configId: entry.item_id }}
      className="text-sm text-accent underline"
    >
      Open the config as it is now
    </Link>
  );
}
