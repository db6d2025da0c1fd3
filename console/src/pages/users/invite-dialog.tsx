import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Role } from '../../../../src/wire/contract/roles.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { RolePicker } from './role-picker.tsx';
import { usersPath } from '../../api/users.ts';
import { inviteUser, type IssuedLink } from './users-query.ts';

interface InviteDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onInvited: (link: IssuedLink) => void;
}

/** A form that starts afresh each time it is opened. */
export function InviteDialog({ open, onClose, onInvited }: InviteDialogProps) {
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
      description="Makes the user and a one-time link that you hand over."
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
          hint="Without one: the address up to its @."
        />
        <RolePicker role={role} onChange={setRole} />
        <ErrorNote error={invite.error} />
        <button type="submit" hidden aria-label="Invite" />
      </form>
    </Dialog>
  );
}
