import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import type { Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import {
  agreementsPath,
  agreementsQuery,
  decide,
  rulesQuery,
  type Agreement,
  type Decision,
} from './agreements-query.ts';
import { states } from './agreements-search.ts';
import { FileAgreementDialog } from './file-agreement-dialog.tsx';
import { RulesSection } from './rules-section.tsx';

const route = getRouteApi('/projects/$projectId/agreements');

const filters = [
  { kind: 'choice', name: 'state', label: 'Any state', choices: states.map((value) => ({ value, label: value })) },
] as const satisfies readonly Filter[];

const tones: Readonly<Record<Agreement['state'], Tone>> = {
  filed: 'warn',
  approved: 'ok',
  rejected: 'danger',
  ended: 'neutral',
};

interface Asked {
  readonly decision: Decision;
  readonly agreement: Agreement;
}

/** Agreements for historical imports: what is in force, what waits. */
export function AgreementsPage() {
  const { id } = useProject();
  const { state, file = false } = route.useSearch();
  const navigate = route.useNavigate();
  const rules = useQuery(rulesQuery(id));
  const agreements = useInfiniteQuery(agreementsQuery(id, state));
  const table = usePageRows(agreements);
  const [asked, setAsked] = useState<Asked>();
  const may = { edit: useMay('editor'), decide: useMay('admin') };
  const columns = useMemo(() => columnsOf(setAsked, may.edit, may.decide), [may.edit, may.decide]);
  const openForm = (open: boolean): void =>
    void navigate({ search: (before) => ({ ...before, file: open ? true : undefined }) });
  return (
    <>
      <PageHeader
        title="Agreements"
        description="How much history may come into this project from where, and how fast."
        actions={
          may.edit && (
            <Button kind="primary" icon={<Plus aria-hidden="true" className="size-4" />} onClick={() => openForm(true)}>
              Request an agreement
            </Button>
          )
        }
      />
      <div className="flex flex-col gap-4">
        {rules.data !== undefined && <RulesSection rules={rules.data} />}
        <div>
          <FilterBar
            filters={filters}
            values={{ state }}
            onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
          />
          <DataTable
            label="Agreements"
            columns={columns}
            {...table}
            rowId={(row) => row.id}
            empty={
              <EmptyState title={state === undefined ? 'No agreements yet' : 'No agreement is in this state'}>
                Request one before a large import, if the rules above ask for it.
              </EmptyState>
            }
          />
        </div>
      </div>
      <FileAgreementDialog open={file} onClose={() => openForm(false)} />
      <DecisionDialog asked={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}

const decisions: Readonly<
  Record<Decision, { readonly title: string; readonly confirm: string; readonly text: string }>
> = {
  approve: {
    title: 'Approve this agreement?',
    confirm: 'Approve',
    text: 'Its history may come in at the speed that it names.',
  },
  reject: {
    title: 'Reject this agreement?',
    confirm: 'Reject',
    text: 'Imports that wait for it go on waiting. A new request can be filed.',
  },
  end: {
    title: 'End this agreement?',
    confirm: 'End agreement',
    text: 'The project is bound as if it had none, from now on.',
  },
};

function DecisionDialog({ asked, onClose }: { readonly asked: Asked | undefined; readonly onClose: () => void }) {
  const { id } = useProject();
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: ({ decision, agreement }: Asked) => decide(id, agreement.id, decision),
    onSuccess: async () => {
      onClose();
      await refresh(client, agreementsPath(id));
    },
  });
  if (asked === undefined) return null;
  const { title, confirm, text } = decisions[asked.decision];
  return (
    <ConfirmDialog
      open
      onClose={() => {
        change.reset();
        onClose();
      }}
      onConfirm={() => change.mutate(asked)}
      title={title}
      confirm={confirm}
      danger={asked.decision !== 'approve'}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        <UserText text={asked.agreement.source} />: {asked.agreement.total_events.toLocaleString('en')} events. {text}
      </p>
    </ConfirmDialog>
  );
}

function columnsOf(ask: (asked: Asked) => void, mayEdit: boolean, mayDecide: boolean): readonly Column<Agreement>[] {
  return [
    {
      id: 'source',
      header: 'Source',
      cell: (row) => (
        <>
          <span className="font-medium">
            <UserText text={row.source} charsMax={80} short />
          </span>
          <p className="text-xs text-soft">
            <UserText text={row.note === '' ? row.method : `${row.method} · ${row.note}`} charsMax={160} short />
          </p>
        </>
      ),
    },
    {
      id: 'state',
      header: 'State',
      width: '7rem',
      sortBy: (row) => row.state,
      cell: (row) => <StatusBadge tone={tones[row.state]}>{row.state}</StatusBadge>,
    },
    {
      id: 'events',
      header: 'Events',
      align: 'end',
      width: '8rem',
      sortBy: (row) => row.total_events,
      cell: (row) => <NumberText value={row.total_events} />,
    },
    {
      id: 'speed',
      header: 'Speed',
      align: 'end',
      width: '7rem',
      sortBy: (row) => row.events_per_second,
      cell: (row) => <NumberText value={row.events_per_second} unit="per_second" />,
    },
    {
      id: 'filed',
      header: 'Filed',
      width: '8rem',
      sortBy: (row) => row.created_at,
      cell: (row) => <TimeText time={row.created_at} form="ago" />,
    },
    {
      id: 'actions',
      header: <span className="sr-only">Decisions</span>,
      width: '12rem',
      cell: (row) => (
        <span className="flex justify-end gap-2">
          {decisionsFor(row, mayEdit, mayDecide).map((decision) => (
            <Button key={decision} size="small" onClick={() => ask({ decision, agreement: row })}>
              {decisions[decision].confirm}
            </Button>
          ))}
        </span>
      ),
    },
  ];
}

function decisionsFor({ state }: Agreement, mayEdit: boolean, mayDecide: boolean): readonly Decision[] {
  if (state === 'filed' && mayDecide) return ['approve', 'reject'];
  return state === 'approved' && mayEdit ? ['end'] : [];
}
