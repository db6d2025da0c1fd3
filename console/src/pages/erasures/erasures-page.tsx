import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { refresh } from '../../api/queries.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { describeSelection } from '../../components/event-selection.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { cancelErasure, canCancel, type Erasure, erasuresPath, erasuresQuery, isOpen } from '../../api/erasures.ts';
import { ErasureForm } from './erasure-form.tsx';

const pollMs = 1000;

/** Erases persons and events, and shows earlier erasures. */
export function ErasuresPage() {
  const { id } = useProject();
  const isAdmin = useHasRole('admin');
  const erasures = useQuery({
    ...erasuresQuery(id),
    enabled: isAdmin,
    refetchInterval: ({ state }) => (state.data?.results.some(isOpen) === true ? pollMs : false),
  });
  return (
    <>
      <PageHeader title="Erasures" description="Persons and events that were removed permanently, without their ids." />
      {isAdmin ? (
        <div className="flex flex-col gap-4">
          <ErasureForm />
          <Section title="All erasures" flush>
            <DataTable
              label="Erasures"
              columns={columns}
              rows={erasures.data?.results}
              rowId={({ id: erasure }) => erasure}
              error={erasures.error}
              onRetry={() => void erasures.refetch()}
              empty={<EmptyState title="No erasures">Nothing was erased from this project.</EmptyState>}
            />
          </Section>
        </div>
      ) : (
        <EmptyState title="For admins">Erasures are started and listed by admins of the organisation.</EmptyState>
      )}
    </>
  );
}

const tones: Readonly<Record<Erasure['state'], Tone>> = {
  queued: 'neutral',
  running: 'info',
  done: 'ok',
  failed: 'danger',
  cancelled: 'warn',
};

const countsOf = ({ result, progress }: Erasure) => result ?? progress?.counts ?? undefined;

const columns: readonly Column<Erasure>[] = [
  {
    id: 'state',
    header: 'State',
    width: '8rem',
    cell: ({ state }) => <Badge tone={tones[state]}>{state[0]?.toUpperCase() + state.slice(1)}</Badge>,
  },
  { id: 'started', header: 'Requested', width: '11rem', cell: ({ created_at }) => <TimeText time={created_at} /> },
  { id: 'of', header: 'Of', cell: (erasure) => <What erasure={erasure} /> },
  {
    id: 'events',
    header: 'Events',
    width: '7rem',
    align: 'end',
    cell: (erasure) => <NumberText value={countsOf(erasure)?.events ?? 0} />,
  },
  {
    id: 'persons',
    header: 'Persons',
    width: '7rem',
    align: 'end',
    cell: (erasure) => <NumberText value={countsOf(erasure)?.persons ?? 0} />,
  },
  { id: 'cancel', header: 'Actions', width: '7rem', cell: (erasure) => <Actions erasure={erasure} /> },
];

function What({ erasure: { request, error, state, progress } }: { readonly erasure: Erasure }) {
  const what = request.selection === null ? 'Persons' : `Events: ${describeSelection(request.selection) || 'all'}`;
  return (
    <span className="flex min-w-0 flex-col">
      <UserText text={what} charsMax={160} />
      {state === 'running' && progress !== null && <span className="text-xs text-soft">{progress.step}</span>}
      {error !== '' && (
        <span className="text-xs text-danger">
          <UserText text={error} charsMax={400} />
        </span>
      )}
    </span>
  );
}

function Actions({ erasure }: { readonly erasure: Erasure }) {
  const { id: projectId } = useProject();
  if (erasure.state !== 'done') return <CancelButton erasure={erasure} />;
  return (
    <a
      href={`${erasuresPath(projectId)}/${erasure.id}/certificate/`}
      download={`erasure-${erasure.id}.json`}
      className="inline-flex min-h-6 items-center text-xs text-link underline"
    >
      Certificate
    </a>
  );
}

function CancelButton({ erasure }: { readonly erasure: Erasure }) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelErasure(projectId, erasure.id),
    onSettled: () => refresh(client, erasuresPath(projectId)),
  });
  if (!canCancel(erasure)) return null;
  return (
    <Button size="small" busy={cancel.isPending} onClick={() => cancel.mutate()}>
      Cancel
    </Button>
  );
}
