import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Ellipsis, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { scopesText } from './key-scopes.ts';
import { type Key, keysPath, keysQuery, type KeyWithValue, revokeKey, rollKey } from './keys-query.ts';
import { NewKeyDialog } from './new-key-dialog.tsx';

const route = getRouteApi('/projects/$projectId/keys');

/** An action that waits for confirmation, because the old value cannot be restored. */
interface PendingAction {
  readonly action: 'revoke' | 'roll';
  readonly key: Key;
}

/** The personal API keys of the signed-in user. */
export function KeysPage() {
  const { create = false } = route.useSearch();
  const navigate = route.useNavigate();
  const keys = useQuery(keysQuery);
  const [issued, setIssued] = useState<KeyWithValue>();
  const [pending, setPending] = useState<PendingAction>();
  const columns = useMemo(() => columnsOf(setPending), []);
  const openForm = (open: boolean): void => void navigate({ search: open ? { create: true } : {} });
  return (
    <>
      <PageHeader
        title="API keys"
        description="Your personal keys for the management API and the command line. Client libraries that send events use the project key instead; see Settings."
        actions={
          <Button kind="primary" icon={<Plus aria-hidden="true" className="size-4" />} onClick={() => openForm(true)}>
            New key
          </Button>
        }
      />
      <DataTable
        label="API keys"
        columns={columns}
        rows={keys.data}
        rowId={(row) => row.id}
        error={keys.error}
        onRetry={() => void keys.refetch()}
        empty={
          <EmptyState title="No keys">
            Create a key with only the scopes that the program needs. A key is shown once.
          </EmptyState>
        }
      />
      <NewKeyDialog
        open={create}
        onClose={() => openForm(false)}
        onCreated={(key) => {
          setIssued(key);
          openForm(false);
        }}
      />
      <KeyValueDialog issued={issued} onClose={() => setIssued(undefined)} />
      <ChangeDialog pending={pending} onClose={() => setPending(undefined)} onRolled={setIssued} />
    </>
  );
}

interface ChangeDialogProps {
  readonly pending: PendingAction | undefined;
  readonly onClose: () => void;
  readonly onRolled: (key: KeyWithValue) => void;
}

function ChangeDialog({ pending, onClose, onRolled }: ChangeDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const change = useMutation({
    mutationFn: async ({ action, key }: PendingAction) =>
      action === 'roll' ? await rollKey(key.id) : await revokeKey(key.id),
    onSuccess: async (rolled) => {
      onClose();
      if (rolled === undefined) toast.done('Key revoked.');
      else onRolled(rolled);
      await refresh(client, keysPath);
    },
  });
  if (pending === undefined) return null;
  const { action, key } = pending;
  const close = (): void => {
    change.reset();
    onClose();
  };
  return (
    <ConfirmDialog
      open
      onClose={close}
      onConfirm={() => change.mutate(pending)}
      title={action === 'roll' ? 'Roll this key?' : 'Revoke this key?'}
      confirm={action === 'roll' ? 'Roll key' : 'Revoke key'}
      busy={change.isPending}
      error={change.error}
    >
      <p>
        <UserText text={key.label} /> (<code>{key.mask_value}</code>){' '}
        {action === 'roll'
          ? 'gets a new value and keeps its scopes. The old value stops working immediately.'
          : 'stops working immediately and permanently.'}
      </p>
    </ConfirmDialog>
  );
}

function columnsOf(ask: (pending: PendingAction) => void): readonly Column<Key>[] {
  return [
    {
      id: 'label',
      header: 'Key',
      sortBy: (row) => row.label.toLowerCase(),
      cell: (row) => (
        <>
          <span className="font-medium">
            <UserText text={row.label} />
          </span>
          <code className="block text-xs text-soft">{row.mask_value}</code>
        </>
      ),
    },
    {
      id: 'scopes',
      header: 'Scopes',
      cell: (row) => <span title={row.scopes.join(', ')}>{scopesText(row.scopes)}</span>,
    },
    {
      id: 'projects',
      header: 'Projects',
      width: '7rem',
      cell: (row) => (row.scoped_teams === null || row.scoped_teams.length === 0 ? 'all' : row.scoped_teams.join(', ')),
    },
    {
      id: 'used',
      header: 'Last used',
      width: '8rem',
      sortBy: (row) => row.last_used_at,
      cell: (row) =>
        row.last_used_at === null ? (
          <span className="text-soft">never</span>
        ) : (
          <TimeText time={row.last_used_at} form="ago" />
        ),
    },
    {
      id: 'expires',
      header: 'Expires',
      width: '10rem',
      sortBy: (row) => row.expires_at,
      cell: (row) => <Expiry row={row} />,
    },
    {
      id: 'actions',
      header: <span className="sr-only">Actions</span>,
      width: '3.5rem',
      cell: (row) => (
        <Menu
          trigger={
            <IconButton
              label={`Actions for ${row.label}`}
              size="small"
              icon={<Ellipsis aria-hidden="true" className="size-4" />}
            />
          }
          groups={[
            [{ label: 'Roll', onSelect: () => ask({ action: 'roll', key: row }) }],
            [{ label: 'Revoke', danger: true, onSelect: () => ask({ action: 'revoke', key: row }) }],
          ]}
        />
      ),
    },
  ];
}

function Expiry({ row }: { readonly row: Key }) {
  if (row.expires_at === null) return <span className="text-soft">never</span>;
  if (Date.parse(row.expires_at) <= Date.now()) return <StatusBadge tone="danger">expired</StatusBadge>;
  return <TimeText time={row.expires_at} />;
}

interface KeyValueDialogProps {
  readonly issued: KeyWithValue | undefined;
  readonly onClose: () => void;
}

/** Shows a new key, once. */
function KeyValueDialog({ issued, onClose }: KeyValueDialogProps) {
  if (issued === undefined) return null;
  const command = `curl ${location.origin}/api/personal_api_keys/@current -H 'Authorization: Bearer ${issued.value}'`;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Your new key"
      footer={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Notice tone="warn">Copy the key now; it is not shown again. Keep it secret.</Notice>
        <CodeBlock code={issued.value} label="Copy key" />
        <p className="text-sm">Try it:</p>
        <CodeBlock code={command} label="Copy command" />
      </div>
    </Dialog>
  );
}
