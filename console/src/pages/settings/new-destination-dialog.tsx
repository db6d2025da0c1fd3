import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Notice } from '../../components/notice.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { createDestination, destinationsPath, type Kind } from './notices-query.ts';

const kinds = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack and compatible' },
  { value: 'email', label: 'E-mail' },
] as const satisfies readonly { readonly value: Kind; readonly label: string }[];

/** A form, and after it the key of a webhook, which is shown once. */
export function NewDestinationDialog({ onClose }: { readonly onClose: () => void }) {
  const { id } = useProject();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('webhook');
  const [place, setPlace] = useState('');
  const create = useMutation({
    mutationFn: () => createDestination(id, { name: name.trim(), kind, ...placeOf(kind, place) }),
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
      description="It hears of runs, failing configs and dead letters of this project."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={create.isPending}
            disabled={name.trim() === '' || place.trim() === ''}
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
          hint={kind === 'email' ? 'With commas between.' : 'Not shown again: it often holds a token.'}
          value={place}
          onChange={setPlace}
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
      title="Key of its signatures"
      footer={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Notice tone="warn">Copy it now: it is not shown again. With it the receiver verifies what comes.</Notice>
        <CodeBlock code={secret} label="Copy key of the signatures" />
      </div>
    </Dialog>
  );
}

function placeOf(kind: Kind, place: string): { readonly url?: string; readonly to?: readonly string[] } {
  if (kind !== 'email') return { url: place.trim() };
  const to = place.split(',').map((each) => each.trim());
  return { to: to.filter((each) => each !== '') };
}
