import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Ellipsis, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { type Role, roleMeanings } from '../../../../src/wire/contract/roles.ts';
import type { UserRecord } from '../../../../src/wire/contract/users.ts';
import { refresh } from '../../api/queries.ts';
import { userName, usersPath, usersQuery } from '../../api/users.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu, type MenuEntry } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProjectContext } from '../../shell/project-context.tsx';
import { RolePicker } from './role-picker.tsx';
import { SessionsSection } from './sessions-section.tsx';
import { type PendingUserAction, type UserAction, UserActionDialog } from './user-action-dialog.tsx';
import { inviteUser, type IssuedLink } from './users-query.ts';

const route = getRouteApi('/projects/$projectId/users');

/** The users of the organisation with their roles, and the sessions of the signed-in user. */
export function UsersPage() {
  const { invite = false } = route.useSearch();
  const navigate = route.useNavigate();
  const isAdmin = useHasRole('admin');
  const { me } = useProjectContext();
  const users = useQuery(usersQuery);
  const [issued, setIssued] = useState<IssuedLink>();
  const [pending, setPending] = useState<PendingUserAction>();
  const columns = useMemo(() => userColumns(me.id, isAdmin ? setPending : undefined), [me.id, isAdmin]);
  const openForm = (open: boolean): void => void navigate({ search: open ? { invite: true } : {} });
  return (
    <>
      <PageHeader
        title="Users"
        description="Users of this organisation and their roles. Roles apply to every project."
        actions={
          isAdmin && (
            <Button kind="primary" icon={<Plus aria-hidden="true" className="size-4" />} onClick={() => openForm(true)}>
              Invite user
            </Button>
          )
        }
      />
      <DataTable
        label="Users"
        columns={columns}
        rows={users.data}
        rowId={(row) => String(row.id)}
        error={users.error}
        onRetry={() => void users.refetch()}
        empty={<EmptyState title="No users">Invite a user with the button above.</EmptyState>}
      />
      <SessionsSection />
      <InviteDialog
        open={invite && isAdmin}
        onClose={() => openForm(false)}
        onInvited={(link) => {
          setIssued(link);
          openForm(false);
        }}
      />
      <UserActionDialog pending={pending} onClose={() => setPending(undefined)} onLink={setIssued} />
      <SignInLinkDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

interface InviteDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onInvited: (link: IssuedLink) => void;
}

/** Mounts the form when opened, so that it always starts empty. */
function InviteDialog({ open, onClose, onInvited }: InviteDialogProps) {
  return open ? <InviteForm onClose={onClose} onInvited={onInvited} /> : null;
}

function InviteForm({ onClose, onInvited }: Omit<InviteDialogProps, 'open'>) {
  const client = useQueryClient();
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const invite = useMutation({
    mutationFn: () =>
      inviteUser({ email: email.trim(), role, ...(name.trim() === '' ? {} : { first_name: name.trim() }) }),
    onSuccess: async (invited) => {
      onInvited(invited);
      await refresh(client, usersPath);
    },
  });
  const submit = (): void => {
    if (email.trim() !== '') invite.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Invite a user"
      description="Creates the user and a one-time link for you to send."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={invite.isPending} disabled={email.trim() === ''} onClick={submit}>
            Invite
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextInput label="E-mail address" type="email" value={email} onChange={setEmail} maxLength={254} required />
        <TextInput
          label="Name"
          value={name}
          onChange={setName}
          maxLength={150}
          hint="Defaults to the part of the address before the @."
        />
        <RolePicker role={role} onChange={setRole} />
        <ErrorNote error={invite.error} />
        <button type="submit" hidden aria-label="Invite" />
      </form>
    </Dialog>
  );
}

interface SignInLinkDialogProps {
  readonly issued: IssuedLink | undefined;
  readonly onClose: () => void;
}

/** Shows a sign-in link, once. */
function SignInLinkDialog({ issued, onClose }: SignInLinkDialogProps) {
  if (issued === undefined) return null;
  return (
    <Dialog
      open
      onClose={onClose}
      title="One-time link"
      footer={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        <Notice tone="warn">Copy the link now; it is not shown again. The first person to open it is signed in.</Notice>
        <p>
          Send it to <UserText text={issued.email === '' ? 'the user' : issued.email} /> yourself; Millrace does not
          send it. It works once, until <TimeText time={issued.sign_in_expires_at} />.
        </p>
        <CodeBlock code={issued.sign_in_url} label="Copy link" />
      </div>
    </Dialog>
  );
}

/** @param ask absent without permission to change users */
function userColumns(
  myId: number,
  ask: ((pending: PendingUserAction) => void) | undefined,
): readonly Column<UserRecord>[] {
  const shown: readonly Column<UserRecord>[] = [
    {
      id: 'user',
      header: 'User',
      sortBy: (row) => userName(row).toLowerCase(),
      cell: (row) => <WhoCell user={row} isMe={row.id === myId} />,
    },
    {
      id: 'role',
      header: 'Role',
      width: '6rem',
      sortBy: (row) => row.role,
      cell: (row) => <span title={roleMeanings[row.role]}>{row.role}</span>,
    },
    {
      id: 'state',
      header: 'State',
      width: '7rem',
      sortBy: (row) => (row.is_active ? 0 : 1),
      cell: (row) => (
        <StatusBadge tone={row.is_active ? 'ok' : 'danger'}>{row.is_active ? 'active' : 'deactivated'}</StatusBadge>
      ),
    },
    {
      id: 'seen',
      header: 'Last seen',
      width: '8rem',
      sortBy: (row) => row.last_seen_at,
      cell: (row) => <TimeText time={row.last_seen_at} form="ago" />,
    },
    {
      id: 'sessions',
      header: 'Sessions',
      width: '6rem',
      align: 'end',
      sortBy: (row) => row.sessions,
      cell: (row) => <NumberText value={row.sessions} />,
    },
    {
      id: 'keys',
      header: 'Keys',
      width: '5rem',
      align: 'end',
      sortBy: (row) => row.personal_api_keys,
      cell: (row) => <NumberText value={row.personal_api_keys} />,
    },
  ];
  return ask === undefined ? shown : [...shown, actionsColumn(myId, ask)];
}

function WhoCell({ user, isMe }: { readonly user: UserRecord; readonly isMe: boolean }) {
  return (
    <>
      <span className="font-medium">
        <UserText text={userName(user)} charsMax={80} short />
      </span>
      {isMe && <span className="text-soft"> (you)</span>}
      {user.first_name !== '' && user.email !== '' && (
        <span className="block text-xs text-soft">
          <UserText text={user.email} charsMax={80} short />
        </span>
      )}
    </>
  );
}

function actionsColumn(myId: number, ask: (pending: PendingUserAction) => void): Column<UserRecord> {
  return {
    id: 'actions',
    header: <span className="sr-only">Actions</span>,
    width: '3.5rem',
    cell: (user) => {
      const entry = (label: string, action: UserAction, danger = false): MenuEntry => ({
        label,
        danger,
        onSelect: () => ask({ action, user }),
      });
      return (
        <Menu
          trigger={
            <IconButton
              label={`Actions for ${userName(user)}`}
              size="small"
              icon={<Ellipsis aria-hidden="true" className="size-4" />}
            />
          }
          groups={[
            [entry('Change role', 'role'), ...(user.is_active ? [entry('New one-time link', 'link')] : [])],
            // Not for the signed-in admin, who could not sign in again; the sessions are listed below.
            user.id === myId
              ? []
              : [
                  entry('Sign out everywhere', 'sign_out'),
                  user.is_active ? entry('Deactivate', 'deactivate', true) : entry('Reactivate', 'reactivate'),
                  entry('Delete', 'delete', true),
                ],
          ]}
        />
      );
    },
  };
}
