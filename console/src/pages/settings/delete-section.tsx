import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { projectsQuery } from '../../api/projects.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { deleteProject } from './project-change.ts';

/** Only admins see it. */
export function DeleteSection() {
  const [open, setOpen] = useState(false);
  if (!useMay('admin')) return null;
  return (
    <Section title="Delete the project" description="Its configs, persons, groups and keys are gone for good.">
      <Button kind="danger" onClick={() => setOpen(true)}>
        Delete project
      </Button>
      {open && <DeleteDialog onClose={() => setOpen(false)} />}
    </Section>
  );
}

function DeleteDialog({ onClose }: { readonly onClose: () => void }) {
  const { id, name } = useProject();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const remove = useMutation({
    mutationFn: () => deleteProject(id),
    onSuccess: async () => {
      // At once: the page that '/' leads to must not be that of the project which is gone.
      client.setQueryData(projectsQuery.queryKey, (page) =>
        page === undefined ? page : { ...page, results: page.results.filter((each) => each.id !== id) },
      );
      await navigate({ to: '/' });
      await refresh(client, '/api/projects');
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Delete this project?"
      size="small"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" busy={remove.isPending} disabled={typed !== name} onClick={() => remove.mutate()}>
            Delete for good
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        <p>
          This cannot be undone. To go on, type the name of the project: <UserText text={name} />
        </p>
        <TextInput label="Name of the project" value={typed} onChange={setTyped} autoComplete="off" />
        <ErrorNote error={remove.error} />
      </div>
    </Dialog>
  );
}
