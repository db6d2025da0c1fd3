import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import {
  countsQuery,
  type DeadLetter,
  discard,
  isFiltered,
  type LetterFilter,
  lettersPath,
  lettersQuery,
  type ReasonCounts,
} from './dead-letters-query.ts';
import { states } from './dead-letters-search.ts';
import { LetterPanel } from './letter-panel.tsx';
import { ReplayDialog } from './replay-dialog.tsx';

const route = getRouteApi('/projects/$projectId/dead-letters');
const pollMs = 10_000;

const filters = [
  { kind: 'text', name: 'event', label: 'Event', placeholder: 'Event' },
  { kind: 'text', name: 'distinct_id', label: 'distinct_id', placeholder: 'distinct_id' },
  {
    kind: 'choice',
    name: 'state',
    label: 'Open',
    choices: states.filter((value) => value !== 'open').map((value) => ({ value, label: value })),
  },
] as const satisfies readonly Filter[];

/** Events that could not be stored, kept unchanged. */
export function DeadLettersPage() {
  const { id } = useProject();
  const { reason, event, distinct_id, state = 'open', letter } = route.useSearch();
  const navigate = route.useNavigate();
  const filter = useMemo(() => ({ reason, event, distinct_id }), [reason, event, distinct_id]);
  const counts = useQuery({ ...countsQuery(id, state), refetchInterval: pollMs });
  const letters = useInfiniteQuery({ ...lettersQuery(id, filter, state), refetchInterval: pollMs });
  const table = usePageRows(letters);
  const open = (next: string | undefined): void => void navigate({ search: (before) => ({ ...before, letter: next }) });
  const columns = useMemo(() => columnsOf(open), []);
  return (
    <>
      <PageHeader
        title="Dead letters"
        description="Events that could not be stored, kept byte for byte. Correct and replay them, or discard them."
        actions={state === 'open' && <BulkActions filter={filter} />}
      />
      <FilterBar
        filters={filters}
        values={{ event, distinct_id, state: state === 'open' ? undefined : state }}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
      />
      <div className="flex flex-col gap-4">
        {counts.data !== undefined && (
          <ReasonsSection
            counts={counts.data}
            chosen={reason}
            onChoose={(next) => void navigate({ search: (before) => ({ ...before, reason: next }), replace: true })}
          />
        )}
        <DataTable
          label="Dead letters"
          columns={columns}
          {...table}
          rowId={(row) => row.id}
          onOpen={(row) => open(row.id)}
          openId={letter}
          empty={<NoLetters filtered={isFiltered(filter)} state={state} />}
        />
      </div>
      <LetterPanel id={letter} onClose={() => open(undefined)} />
    </>
  );
}

/** Actions on all matching dead letters. Requires a filter, so that none applies to everything by accident. */
function BulkActions({ filter }: { readonly filter: LetterFilter }) {
  const canEdit = useHasRole('editor');
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [pending, setPending] = useState<'replay' | 'discard'>();
  const discardAll = useMutation({
    mutationFn: () => discard(id, { filter }),
    onSuccess: async ({ discarded }) => {
      setPending(undefined);
      toast.done(`${discarded.toLocaleString('en')} discarded.`);
      await refresh(client, lettersPath(id));
    },
  });
  if (!canEdit || !isFiltered(filter)) return null;
  return (
    <>
      <Button onClick={() => setPending('discard')}>Discard all matching</Button>
      <Button kind="primary" onClick={() => setPending('replay')}>
        Replay all matching
      </Button>
      {pending === 'replay' && <ReplayDialog filter={filter} onClose={() => setPending(undefined)} />}
      <ConfirmDialog
        open={pending === 'discard'}
        onClose={() => setPending(undefined)}
        onConfirm={() => discardAll.mutate()}
        title="Discard all matching?"
        confirm="Discard all"
        busy={discardAll.isPending}
        error={discardAll.error}
      >
        <p>They are not stored and can no longer be replayed. You can still read them under Discarded.</p>
      </ConfirmDialog>
    </>
  );
}

function NoLetters({ filtered, state }: { readonly filtered: boolean; readonly state: DeadLetter['state'] }) {
  if (filtered || state !== 'open') return <EmptyState title="No matching dead letters">Clear the filters.</EmptyState>;
  return (
    <EmptyState title="No dead letters">
      All received events were stored. An event that cannot be stored appears here with the reason and its original
      bytes.
    </EmptyState>
  );
}

function columnsOf(open: (id: string) => void): readonly Column<DeadLetter>[] {
  return [
    {
      id: 'event',
      header: 'Event',
      cell: (row) => (
        <>
          <button
            type="button"
            onClick={() => open(row.id)}
            className="max-w-full text-left font-medium hover:underline"
          >
            <UserText text={row.event === null || row.event === '' ? '(no name)' : row.event} charsMax={80} short />
          </button>
          <p className="text-xs text-soft">
            <UserText text={row.detail} charsMax={160} short />
          </p>
        </>
      ),
    },
    {
      id: 'distinct_id',
      header: 'distinct_id',
      width: '12rem',
      cell: (row) => (
        <UserText
          text={row.distinct_id === null || row.distinct_id === '' ? '–' : row.distinct_id}
          charsMax={40}
          short
        />
      ),
    },
    { id: 'reason', header: 'Reason', width: '14rem', cell: (row) => <code className="text-xs">{row.reason}</code> },
    {
      id: 'received',
      header: 'Received',
      width: '8rem',
      sortBy: (row) => row.received_at,
      cell: (row) => <TimeText time={row.received_at} form="ago" />,
    },
  ];
}

interface ReasonsSectionProps {
  readonly counts: ReasonCounts;
  readonly chosen: string | undefined;
  readonly onChoose: (reason: string | undefined) => void;
}

/** The number of dead letters by reason; selecting one filters the table. */
function ReasonsSection({ counts, chosen, onChoose }: ReasonsSectionProps) {
  if (counts.results.length === 0) return null;
  return (
    <Section title="By reason" flush>
      <ul className="divide-y divide-line">
        {counts.results.map((each) => (
          <li key={each.reason}>
            <button
              type="button"
              aria-pressed={each.reason === chosen}
              onClick={() => onChoose(each.reason === chosen ? undefined : each.reason)}
              className="flex w-full items-start gap-4 px-4 py-2.5 text-left hover:bg-hover aria-pressed:bg-accent-soft"
            >
              <span className="min-w-0 flex-1">
                <span className="block text-sm font-medium">
                  <UserText text={each.reason} />
                </span>
                <span className="block text-xs text-soft">
                  <UserText text={each.meaning} />
                </span>
              </span>
              <span className="shrink-0 text-right">
                <span className="block text-sm font-semibold tabular-nums">
                  <NumberText value={each.count} />
                </span>
                <span className="block text-xs text-soft">
                  <TimeText time={each.newest} form="ago" />
                </span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
