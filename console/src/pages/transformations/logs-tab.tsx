import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { PluginLogRecord } from '../../../../src/wire/contract/plugin-view.ts';
import { apiPages, rowsOf } from '../../api/queries.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { transformationPath } from './transformation-queries.ts';

/** Levels of a plugin's log. */
const pluginLogLevels = [
  'DEBUG',
  'LOG',
  'INFO',
  'WARN',
  'ERROR',
] as const satisfies readonly PluginLogRecord['level'][];

const route = getRouteApi('/projects/$projectId/transformations/$configId');
const pollMs = 5_000;
const tones: Readonly<Record<PluginLogRecord['level'], Tone>> = {
  DEBUG: 'neutral',
  LOG: 'neutral',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'danger',
};
const filters = [
  { kind: 'text', name: 'q', label: 'Search logs' },
  {
    kind: 'choice',
    name: 'level',
    label: 'Any level',
    choices: pluginLogLevels.map((value) => ({ value, label: value })),
  },
] as const satisfies readonly Filter[];

/** Log lines of the plugin and of the service about it, newest first. */
export function LogsTab({ id }: { readonly id: number }) {
  const { id: projectId } = useProject();
  const { q, level } = route.useSearch();
  const navigate = route.useNavigate();
  const path = `${transformationPath(projectId, id)}/logs`;
  const logs = useInfiniteQuery({
    ...apiPages<PluginLogRecord>(path, { search: q, level }),
    // Only while one page is shown: older pages do not change.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : pollMs),
  });
  const rows = useMemo(() => logs.data && rowsOf<PluginLogRecord>(logs.data), [logs.data]);
  return (
    <>
      <FilterBar
        filters={filters}
        values={{ q, level }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <DataTable
        label="Log"
        columns={columns}
        rows={rows}
        rowId={(row) => row.id}
        error={logs.error}
        onRetry={() => void logs.refetch()}
        hasMore={logs.hasNextPage}
        onMore={() => void logs.fetchNextPage()}
        isLoadingMore={logs.isFetchingNextPage}
        empty={
          <EmptyState title="No log lines">
            {q === undefined && level === undefined
              ? 'Output of console.log and messages of the service appear here.'
              : 'No line matches the filters.'}
          </EmptyState>
        }
      />
    </>
  );
}

const columns: readonly Column<PluginLogRecord>[] = [
  { id: 'time', header: 'Time', width: '14rem', cell: (row) => <TimeText time={row.timestamp} form="exact" /> },
  { id: 'level', header: 'Level', width: '6rem', cell: (row) => <Badge tone={tones[row.level]}>{row.level}</Badge> },
  {
    id: 'message',
    header: 'Message',
    cell: (row) => (
      <span className="font-mono text-xs">
        <UserText text={row.message} charsMax={500} />
      </span>
    ),
  },
];
