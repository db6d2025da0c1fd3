import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Role } from '../../../../src/wire/contract/roles.ts';
import type { SignInLink, UserRecord } from '../../../../src/wire/contract/users.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { userName, usersPath } from '../../api/users.ts';
import { RolePicker } from './role-picker.tsx';
import { changeUser, deleteUser, type IssuedLink, newSignInLink, signOutUser } from './users-query.ts';

/** Actions of an admin on a user; each needs confirmation. */
export type UserAction = 'role' | 'link' | 'sign_out' | 'deactivate' | 'reactivate' | 'delete';

export interface PendingUserAction {
  readonly action: UserAction;
  readonly user: UserRecord;
}

interface UserActionDialogProps {
  readonly pending: PendingUserAction | undefined;
  readonly onClose: () => void;
  readonly onLink: (link: IssuedLink) => void;
}

export function UserActionDialog({ pending, ...props }: UserActionDialogProps) {
  if (pending === undefined) return null;
  if (pending.action === 'role') return <RoleDialog user={pending.user} onClose={props.onClose} />;
  return <ConfirmActionDialog action={pending.action} user={pending.user} {...props} />;
}

interface Confirmation {
  readonly title: string;
  readonly confirm: string;
  readonly consequence: string;
  readonly done: string;
}

const confirmations: Readonly<Record<Exclude<UserAction, 'role'>, Confirmation>> = {
  link: {
    title: 'Create a one-time link?',
    confirm: 'Create link',
    consequence: 'can sign in with it once. Earlier links keep working until they expire.',
    done: 'Link created.',
  },
  sign_out: {
    title: 'Sign out everywhere?',
    confirm: 'Sign out',
    consequence: 'is signed out of every browser and needs a new link or a key to sign in again. Keys keep working.',
    done: 'User signed out.',
  },
  deactivate: {
    title: 'Deactivate this user?',
    confirm: 'Deactivate',
    consequence: 'is signed out immediately. Links and keys do not work until you reactivate the user.',
    done: 'User deactivated.',
  },
  reactivate: {
    title: 'Reactivate this user?',
    confirm: 'Reactivate',
    consequence: 'can sign in again with the same role, and the keys work again.',
    done: 'User reactivated.',
  },
  delete: {
    title: 'Delete this user?',
    confirm: 'Delete user',
    consequence: 'is deleted permanently with all sessions and keys. The activity log is kept.',
    done: 'User deleted.',
  },
};

const isDangerous = (action: UserAction): boolean => action !== 'link' && action !== 'reactivate';

interface ConfirmActionDialogProps extends Omit<UserActionDialogProps, 'pending'> {
  readonly action: Exclude<UserAction, 'role'>;
  readonly user: UserRecord;
}

function ConfirmActionDialog({ action, user, onClose, onLink }: ConfirmActionDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const { title, confirm, consequence, done } = confirmations[action];
  const act = useMutation({
    mutationFn: () => perform(action, user.id),
    onSuccess: async (link) => {
      onClose();
      if (link === undefined) toast.done(done);
      else onLink({ ...link, email: user.email });
      await refresh(client, usersPath);
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => act.mutate()}
      title={title}
      confirm={confirm}
      danger={isDangerous(action)}
      busy={act.isPending}
      error={act.error}
    >
      <p>
        <UserText text={userName(user)} /> {consequence}
      </p>
    </ConfirmDialog>
  );
}

/** @returns the link, if the action creates one */
async function perform(action: Exclude<UserAction, 'role'>, id: number): Promise<SignInLink | undefined> {
  if (action === 'link') return await newSignInLink(id);
  if (action === 'sign_out') await signOutUser(id);
  else if (action === 'delete') await deleteUser(id);
  else await changeUser(id, { is_active: action === 'reactivate' });
  return undefined;
}

function RoleDialog({ user, onClose }: { readonly user: UserRecord; readonly onClose: () => void }) {
  const client = useQueryClient();
  const toast = useToast();
  const [role, setRole] = useState<Role>(user.role);
  const change = useMutation({
    mutationFn: () => changeUser(user.id, { role }),
    onSuccess: async () => {
      onClose();
      toast.done('Role changed.');
      await refresh(client, usersPath);
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Change role"
      description={<UserText text={userName(user)} />}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={change.isPending} disabled={role === user.role} onClick={() => change.mutate()}>
            Change role
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <RolePicker role={role} onChange={setRole} />
        <ErrorNote error={change.error} />
      </div>
    </Dialog>
  );
}
