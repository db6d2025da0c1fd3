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

/** What an admin does with a user, each asked before it is done. */
export type Deed = 'role' | 'link' | 'sign_out' | 'shut_out' | 'let_in' | 'delete';

export interface AskedDeed {
  readonly deed: Deed;
  readonly user: UserRecord;
}

interface UserDeedDialogProps {
  readonly asked: AskedDeed | undefined;
  readonly onClose: () => void;
  readonly onLink: (link: IssuedLink) => void;
}

export function UserDeedDialog({ asked, ...props }: UserDeedDialogProps) {
  if (asked === undefined) return null;
  if (asked.deed === 'role') return <RoleDialog user={asked.user} onClose={props.onClose} />;
  return <AskDialog deed={asked.deed} user={asked.user} {...props} />;
}

interface Asking {
  readonly title: string;
  readonly confirm: string;
  readonly consequence: string;
  readonly done: string;
}

const askings: Readonly<Record<Exclude<Deed, 'role'>, Asking>> = {
  link: {
    title: 'Make a new one-time link?',
    confirm: 'Make link',
    consequence: 'can sign in with it once. Links made before still work until they expire.',
    done: 'The link is made.',
  },
  sign_out: {
    title: 'Sign out everywhere?',
    confirm: 'Sign out',
    consequence: 'is signed out in every browser, and needs a new link or a key to come back. Keys go on working.',
    done: 'All sessions are ended.',
  },
  shut_out: {
    title: 'Shut the user out?',
    confirm: 'Shut out',
    consequence: 'is signed out at once, and neither links nor keys work until you let the user in again.',
    done: 'The user is shut out.',
  },
  let_in: {
    title: 'Let the user in again?',
    confirm: 'Let in',
    consequence: 'may sign in again, with the same role. The keys work again.',
    done: 'The user may sign in again.',
  },
  delete: {
    title: 'Delete the user?',
    confirm: 'Delete user',
    consequence: 'is deleted for good, with all sessions and keys. The activity log keeps what was done.',
    done: 'The user is deleted.',
  },
};

const isDangerous = (deed: Deed): boolean => deed !== 'link' && deed !== 'let_in';

interface AskDialogProps extends Omit<UserDeedDialogProps, 'asked'> {
  readonly deed: Exclude<Deed, 'role'>;
  readonly user: UserRecord;
}

function AskDialog({ deed, user, onClose, onLink }: AskDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const { title, confirm, consequence, done } = askings[deed];
  const act = useMutation({
    mutationFn: () => carryOut(deed, user.id),
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
      danger={isDangerous(deed)}
      busy={act.isPending}
      error={act.error}
    >
      <p>
        <UserText text={userName(user)} /> {consequence}
      </p>
    </ConfirmDialog>
  );
}

/** @returns the link, when one was made */
async function carryOut(deed: Exclude<Deed, 'role'>, id: number): Promise<SignInLink | undefined> {
  if (deed === 'link') return await newSignInLink(id);
  if (deed === 'sign_out') await signOutUser(id);
  else if (deed === 'delete') await deleteUser(id);
  else await changeUser(id, { is_active: deed === 'let_in' });
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
      toast.done('The role is changed. It holds from the next request on.');
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
