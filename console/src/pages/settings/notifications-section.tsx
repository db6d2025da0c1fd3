import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  DeliveryRecord,
  DestinationKind,
  DestinationRecord,
  NewDestinationRecord,
} from '../../../../src/wire/contract/notices.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Notice } from '../../components/notice.tsx';
import { plainText } from '../../components/plain-text.ts';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { Switch } from '../../components/switch.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';

/** Destinations of the project's notifications. */
export function NotificationsSection() {
  const { id } = useProject();
  const canEdit = useHasRole('editor');
  const destinations = useQuery(destinationsQuery(id));
  const [creating, setCreating] = useState(false);
  const [deleting, setDeleting] = useState<Destination>();
  const columns = useColumns(canEdit, setDeleting);
  return (
    <Section
      title="Notifications"
      description="Sent when an import run completes, fails or waits, a config fails, or events cannot be stored."
      actions={canEdit && <Button onClick={() => setCreating(true)}>New destination</Button>}
      flush
    >
      <DataTable
        label="Notification destinations"
        columns={columns}
        rows={destinations.data?.results}
        rowId={(row) => row.id}
        error={destinations.error}
        onRetry={() => void destinations.refetch()}
        empty={<EmptyState title="No destinations">Add a webhook, Slack channel or e-mail address.</EmptyState>}
      />
      {creating && <NewDestinationDialog onClose={() => setCreating(false)} />}
      {deleting !== undefined && <DeleteDialog destination={deleting} onClose={() => setDeleting(undefined)} />}
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
      title="Delete this destination?"
      confirm="Delete destination"
      busy={remove.isPending}
      error={remove.error}
    >
      <p>Pending notifications for it are discarded. This cannot be undone.</p>
    </ConfirmDialog>
  );
}

function useColumns(canEdit: boolean, onDelete: (row: Destination) => void): readonly Column<Destination>[] {
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
      cell: (row) => <OnSwitch destination={row} disabled={!canEdit} />,
    },
  ];
  if (!canEdit) return shown;
  return [
    ...shown,
    {
      id: 'actions',
      header: <span className="sr-only">Actions</span>,
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
        label={`Send notifications to ${plainText(destination.name)}`}
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
    onSuccess: () => toast.done('Test delivered.'),
  });
  return (
    <>
      <Button size="small" busy={test.isPending} onClick={() => test.mutate()}>
        Send test
      </Button>
      <ErrorNote error={test.error} />
    </>
  );
}

const kinds = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack or compatible' },
  { value: 'email', label: 'E-mail' },
] as const satisfies readonly { readonly value: Kind; readonly label: string }[];

/** Creates a destination, and shows the signing key of a webhook once. */
function NewDestinationDialog({ onClose }: { readonly onClose: () => void }) {
  const { id } = useProject();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('webhook');
  const [target, setTarget] = useState('');
  const create = useMutation({
    mutationFn: () => createDestination(id, { name: name.trim(), kind, ...targetOf(kind, target) }),
    onSuccess: async ({ secret }) => {
      if (secret === null) onClose();
      await refresh(client, destinationsPath(id));
    },
  });
  const secret = create.data?.secret ?? null;
  if (secret !== null) return <SecretDialog secret={secret} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title="New destination"
      description="Receives notifications about runs, failing configs and dead letters of this project."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={create.isPending}
            disabled={name.trim() === '' || target.trim() === ''}
            onClick={() => create.mutate()}
          >
            Create
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <TextInput label="Destination name" value={name} onChange={setName} maxLength={400} required />
        <Select label="Kind" value={kind} choices={kinds} onChange={setKind} />
        <TextInput
          label={kind === 'email' ? 'Recipients' : 'Address'}
          hint={kind === 'email' ? 'Separate with commas.' : 'Not shown again, because it often contains a token.'}
          value={target}
          onChange={setTarget}
          maxLength={2000}
          required
        />
        <ErrorNote error={create.error} />
      </div>
    </Dialog>
  );
}

function SecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Signing key"
      footer={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Notice tone="warn">Copy the key now; it is not shown again. The receiver verifies requests with it.</Notice>
        <CodeBlock code={secret} label="Copy signing key" />
      </div>
    </Dialog>
  );
}

function targetOf(kind: Kind, target: string): { readonly url?: string; readonly to?: readonly string[] } {
  if (kind !== 'email') return { url: target.trim() };
  const to = target.split(',').map((each) => each.trim());
  return { to: to.filter((each) => each !== '') };
}

type Destination = DestinationRecord;
type NewDestination = NewDestinationRecord;
type Kind = DestinationKind;

/** A test is attempted once, within seconds. */
const pollsMax = 100;
const pollMs = 500;

const destinationsPath = (projectId: number): string => projectPath(projectId, 'notice_destinations');

function destinationsQuery(projectId: number) {
  return apiQuery<{ readonly results: readonly Destination[] }>(destinationsPath(projectId), { limit: 1000 });
}

interface DestinationFields {
  readonly name: string;
  readonly kind: Kind;
  readonly url?: string;
  readonly to?: readonly string[];
}

function createDestination(projectId: number, body: DestinationFields): Promise<NewDestination> {
  return request<NewDestination>(destinationsPath(projectId), { method: 'POST', body });
}

function switchDestination(projectId: number, id: string, enabled: boolean): Promise<Destination> {
  return request<Destination>(`${destinationsPath(projectId)}/${id}`, { method: 'PATCH', body: { enabled } });
}

async function deleteDestination(projectId: number, id: string): Promise<void> {
  await request(`${destinationsPath(projectId)}/${id}`, { method: 'DELETE' });
}

/** Sends a test notification and waits for the outcome. @throws Error with the reason when the delivery failed */
async function sendTest(projectId: number, id: string): Promise<void> {
  const path = `${destinationsPath(projectId)}/${id}`;
  let delivery = await request<DeliveryRecord>(`${path}/test`, { method: 'POST', body: {} });
  for (let polls = 0; polls < pollsMax && !isEnded(delivery); polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    delivery = await request<DeliveryRecord>(`${path}/deliveries/${delivery.id}`);
  }
  if (delivery.state === 'sent') return;
  throw new Error(delivery.error === '' ? 'The service has not sent it yet.' : delivery.error);
}

function isEnded({ state }: DeliveryRecord): boolean {
  return state === 'sent' || state === 'failed';
}
