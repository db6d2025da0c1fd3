import { getRouteApi } from '@tanstack/react-router';
import { PageHeader } from '../../components/page-header.tsx';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
import { LiveEvents } from './live-events.tsx';

const route = getRouteApi('/projects/$projectId/live');

const filters = [
  { kind: 'text', name: 'event', label: 'Event', placeholder: 'Event, the whole name' },
  { kind: 'text', name: 'distinct_id', label: 'Distinct id', placeholder: 'Distinct id, the whole id' },
] as const satisfies readonly Filter[];

/** Events on their way, as they are seen. */
export function LivePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<typeof search>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const { event, distinct_id } = search;
  return (
    <>
      <PageHeader
        title="Live"
        description="Events on their way through the pipeline, as they are seen from now on. Nothing is kept here."
      />
      <FilterBar filters={filters} values={{ event, distinct_id }} onChange={change} />
      <LiveEvents
        key={JSON.stringify([search.stages, event, distinct_id])}
        filter={search}
        onStages={(stages: readonly LiveStage[] | undefined) => change({ stages })}
      />
    </>
  );
}
