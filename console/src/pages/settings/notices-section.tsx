import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { plainText } from '../../components/plain-text.ts';
import { Section } from '../../components/section.tsx';
import { Switch } from '../../components/switch.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { NewDestinationDialog } from './new-destination-dialog.tsx';
import {
  deleteDestination,
  destinationsPath,
  destinationsQuery,
  sendTest,
  switchDestination,
  type Destination,
} from './notices-query.ts';

/** Who is told when something happens in the project. */
export function NoticesSection() {
  const { id } = useProject();
  const mayChange = useMay('editor');
  const destinations = useQuery(destinationsQuery(id));
  const [making, setMaking] = useState(false);
  const [doomed, setDoomed] = useState<Destination>();
  const columns = useColumns(mayChange, setDoomed);
  return (
    <Section
      title="Notices"
      description="Told when a run is done, fails or waits, a config fails, or events cannot be stored."
      actions={mayChange && <Button onClick={() => setMaking(true)}>New destination</Button>}
      flush
    >
      <DataTable
        label="Destinations of notices"
        columns={columns}
        rows={destinations.data?.results}
        rowId={(row) => row.id}
        error={destinations.error}
        onRetry={() => void destinations.refetch()}
        empty={<EmptyState title="Nobody is told">A webhook, Slack or an address of e-mail can be.</EmptyState>}
      />
      {making && <NewDestinationDialog onClose={() => setMaking(false)} />}
      {doomed !== undefined && <DeleteDialog destination={doomed} onClose={() => setDoomed(undefined)} />}
    </Section>
  );
}

function DeleteDialog({ destination, onClose }: { readonly destination: Destination; readonly onClose: () => void }) {
  const { id } = useProject();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteDestination(id, destination.id),
    onSuccess: async () => {
      onClose();
      await refresh(client, destinationsPath(id));
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      title="Delete the destination?"
      confirm="Delete destination"
      busy={remove.isPending}
      error={remove.error}
    >
      <p>What is on its way to it goes, too. This cannot be undone.</p>
    </ConfirmDialog>
  );
}

function useColumns(mayChange: boolean, onDelete: (row: Destination) => void): readonly Column<Destination>[] {
  const shown: readonly Column<Destination>[] = [
    { id: 'name', header: 'Name', cell: (row) => <UserText text={row.name} charsMax={80} short /> },
    { id: 'kind', header: 'Kind', width: '6rem', cell: (row) => row.kind },
    {
      id: 'to',
      header: 'To',
      cell: (row) => <UserText text={row.url ?? row.to.join(', ')} charsMax={80} short />,
    },
    {
      id: 'on',
      header: 'State',
      width: '6rem',
      cell: (row) => <OnSwitch destination={row} disabled={!mayChange} />,
    },
  ];
  if (!mayChange) return shown;
  return [
    ...shown,
    {
      id: 'deeds',
      header: <span className="sr-only">Deeds</span>,
      width: '15rem',
      cell: (row) => (
        <span className="flex flex-wrap items-center gap-2">
          <TestButton destination={row} />
          <Button size="small" onClick={() => onDelete(row)}>
            Delete
          </Button>
        </span>
      ),
    },
  ];
}

function OnSwitch({ destination, disabled }: { readonly destination: Destination; readonly disabled: boolean }) {
  const { id } = useProject();
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) => switchDestination(id, destination.id, enabled),
    onSuccess: () => refresh(client, destinationsPath(id)),
  });
  return (
    <span className="flex items-center gap-2">
      <Switch
        label={`Send notices to ${plainText(destination.name)}`}
        checked={change.isPending ? change.variables : destination.enabled}
        onChange={(enabled) => change.mutate(enabled)}
        disabled={disabled}
      />
      {destination.enabled ? 'on' : 'off'}
    </span>
  );
}

function TestButton({ destination }: { readonly destination: Destination }) {
  const { id } = useProject();
  const toast = useToast();
  const test = useMutation({
    mutationFn: () => sendTest(id, destination.id),
    onSuccess: () => toast.done('The test has arrived.'),
  });
  return (
    <>
      <Button size="small" busy={test.isPending} onClick={() => test.mutate()}>
        Send a test
      </Button>
      <ErrorNote error={test.error} />
    </>
  );
}
