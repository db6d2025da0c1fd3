import { counted } from '../../components/format-number.ts';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Static } from 'typebox';
import type { HistoricalMigrationRecord } from '../../../../src/wire/contract/historical-migrations.ts';
import type { historicalSettingsSchema } from '../../../../src/wire/contract/historical-settings.ts';
import { apiPages, apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Facts } from '../../components/facts.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { states } from './agreements-search.ts';

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

interface PendingDecision {
  readonly decision: Decision;
  readonly agreement: Agreement;
}

/** Agreements for historical imports: current limits, requests and decisions. */
export function AgreementsPage() {
  const { id } = useProject();
  const { state, file = false } = route.useSearch();
  const navigate = route.useNavigate();
  const rules = useQuery(rulesQuery(id));
  const agreements = useInfiniteQuery(agreementsQuery(id, state));
  const table = usePageRows(agreements);
  const [pending, setPending] = useState<PendingDecision>();
  const may = { edit: useHasRole('editor'), decide: useHasRole('admin') };
  const columns = useMemo(() => columnsOf(setPending, may.edit, may.decide), [may.edit, may.decide]);
  const openForm = (open: boolean): void =>
    void navigate({ search: (before) => ({ ...before, file: open ? true : undefined }) });
  return (
    <>
      <PageHeader
        title="Agreements"
        description="How much history this project may import, from which source and how fast."
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
              <EmptyState title={state === undefined ? 'No agreements yet' : 'No matching agreements'}>
                Request one before a large import if the limits above require it.
              </EmptyState>
            }
          />
        </div>
      </div>
      <FileAgreementDialog open={file} onClose={() => openForm(false)} />
      <DecisionDialog pending={pending} onClose={() => setPending(undefined)} />
    </>
  );
}

const decisions: Readonly<
  Record<Decision, { readonly title: string; readonly confirm: string; readonly text: string }>
> = {
  approve: {
    title: 'Approve this agreement?',
    confirm: 'Approve',
    text: 'Its history can be imported at the agreed speed.',
  },
  reject: {
    title: 'Reject this agreement?',
    confirm: 'Reject',
    text: 'Imports that need it keep waiting. A new request can be submitted.',
  },
  end: {
    title: 'End this agreement?',
    confirm: 'End agreement',
    text: 'From now on the limits apply as if there were no agreement.',
  },
};

function DecisionDialog({
  pending,
  onClose,
}: {
  readonly pending: PendingDecision | undefined;
  readonly onClose: () => void;
}) {
  const { id } = useProject();
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: ({ decision, agreement }: PendingDecision) => decide(id, agreement.id, decision),
    onSuccess: async () => {
      onClose();
      await refresh(client, agreementsPath(id));
    },
  });
  if (pending === undefined) return null;
  const { title, confirm, text } = decisions[pending.decision];
  return (
    <ConfirmDialog
      open
      onClose={() => {
        change.reset();
        onClose();
      }}
      onConfirm={() => change.mutate(pending)}
      title={title}
      confirm={confirm}
      danger={pending.decision !== 'approve'}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        <UserText text={pending.agreement.source} />: {counted(pending.agreement.total_events, 'event')}. {text}
      </p>
    </ConfirmDialog>
  );
}

function columnsOf(
  ask: (pending: PendingDecision) => void,
  canEdit: boolean,
  canDecide: boolean,
): readonly Column<Agreement>[] {
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
          {decisionsFor(row, canEdit, canDecide).map((decision) => (
            <Button key={decision} size="small" onClick={() => ask({ decision, agreement: row })}>
              {decisions[decision].confirm}
            </Button>
          ))}
        </span>
      ),
    },
  ];
}

function decisionsFor({ state }: Agreement, canEdit: boolean, canDecide: boolean): readonly Decision[] {
  if (state === 'filed' && canDecide) return ['approve', 'reject'];
  return state === 'approved' && canEdit ? ['end'] : [];
}

const modes: Readonly<Record<Rules['mode'], string>> = {
  optional: 'Imports of history do not need an agreement.',
  required: 'Imports of history beyond the free amount need an approved agreement.',
};

/** The limits for history that currently apply to this project. */
function RulesSection({ rules }: { readonly rules: Rules }) {
  const { mode, events_per_second: speed } = rules;
  return (
    <Section title="Current limits" description={modes[mode]}>
      <Facts
        facts={[
          ['Historical events stored', <NumberText key="stored" value={rules.historical_events} />],
          ...(mode === 'required'
            ? [['Free without an agreement', <NumberText key="free" value={rules.free_events_in_all} />] as const]
            : []),
          ['Maximum speed', speed === null ? 'unlimited' : <NumberText key="speed" value={speed} unit="per_second" />],
          ['Waiting for a decision', <NumberText key="filed" value={rules.filed} />],
        ]}
      />
    </Section>
  );
}

interface FileAgreementDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Mounts the form when opened, so that it always starts empty. */
function FileAgreementDialog({ open, onClose }: FileAgreementDialogProps) {
  return open ? <FileAgreementForm onClose={onClose} /> : null;
}

function FileAgreementForm({ onClose }: Omit<FileAgreementDialogProps, 'open'>) {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [source, setSource] = useState('');
  const [method, setMethod] = useState('Import in the console');
  const [total, setTotal] = useState('');
  const [speed, setSpeed] = useState('1000');
  const [note, setNote] = useState('');
  const file = useMutation({
    mutationFn: () =>
      fileAgreement(id, {
        source: source.trim(),
        method: method.trim(),
        total_events: Number(total),
        events_per_second: Number(speed),
        note,
      }),
    onSuccess: async () => {
      onClose();
      toast.done('Request submitted. An administrator must approve it.');
      await refresh(client, agreementsPath(id));
    },
  });
  const complete = source.trim() !== '' && method.trim() !== '' && isPositiveInteger(total) && isPositiveInteger(speed);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Request an agreement"
      description="How much history you want to import, from which source and how fast."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={file.isPending} disabled={!complete} onClick={() => file.mutate()}>
            Submit request
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <TextInput
          label="Source"
          hint="The tool you are migrating from."
          value={source}
          onChange={setSource}
          maxLength={400}
          required
        />
        <TextInput label="Method" value={method} onChange={setMethod} maxLength={400} required />
        <CountInput label="Total events" value={total} onChange={setTotal} />
        <CountInput label="Maximum speed, events per second" value={speed} onChange={setSpeed} />
        <TextArea label="Note" value={note} onChange={setNote} maxLength={1000} rows={3} />
        <ErrorNote error={file.error} />
      </div>
    </Dialog>
  );
}

interface CountInputProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function CountInput({ label, value, onChange }: CountInputProps) {
  const error = value === '' || isPositiveInteger(value) ? undefined : 'Expected a whole number above 0.';
  return <TextInput label={label} inputMode="numeric" value={value} onChange={onChange} required error={error} />;
}

function isPositiveInteger(text: string): boolean {
  return /^[1-9]\d{0,12}$/.test(text.trim());
}

type Agreement = HistoricalMigrationRecord;
type Rules = Static<typeof historicalSettingsSchema>;
type Decision = 'approve' | 'reject' | 'end';

const agreementsPath = (projectId: number): string => projectPath(projectId, 'historical_migrations');

function rulesQuery(projectId: number) {
  return apiQuery<Rules>(`${agreementsPath(projectId)}/settings`);
}

function agreementsQuery(projectId: number, state: Agreement['state'] | undefined) {
  return apiPages<Agreement>(agreementsPath(projectId), { state, limit: 100 });
}

interface NewAgreement {
  readonly source: string;
  readonly method: string;
  readonly total_events: number;
  readonly events_per_second: number;
  readonly note: string;
}

function fileAgreement(projectId: number, agreement: NewAgreement): Promise<Agreement> {
  return request<Agreement>(agreementsPath(projectId), { method: 'POST', body: agreement });
}

function decide(projectId: number, id: string, decision: Decision): Promise<Agreement> {
  return request<Agreement>(`${agreementsPath(projectId)}/${id}/${decision}`, { method: 'POST', body: {} });
}
