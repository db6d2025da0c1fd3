import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type * as demo from '../../../../src/demo/demo.ts';
import { type ProjectRecord, projectsQuery } from '../../api/projects.ts';
import { refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';

const client: demo.DemoClient = {
  send: (method, path, body) => request(path, body === undefined ? { method } : { method, body }),
};

const stepTexts: Readonly<Record<demo.DemoStep, string>> = {
  project: 'Creating the project…',
  upload: 'Uploading a year of events…',
  import: 'Importing and verifying the events…',
  live: 'Sending the events of the last hour…',
};

/** Creates the demo project and opens it; for those who may create projects. */
export function DemoOffer() {
  const isAdmin = useHasRole('admin');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [step, setStep] = useState<demo.DemoStep>('project');
  const create = useMutation({
    mutationFn: async () => {
      const { createDemo, demoPersons } = await loadDemo();
      const { signal } = new AbortController();
      return createDemo(client, { persons: demoPersons, now: Date.now(), signal, onStep: setStep });
    },
    onSuccess: async ({ project: { id } }) => {
      await refresh(queries, '/api/projects');
      await navigate({ to: '/projects/$projectId/home', params: { projectId: String(id) } });
    },
  });
  const command = <code>npx millrace demo</code>;
  if (!isAdmin)
    return <p className="py-2 text-sm">No data yet? {command} creates a project with a year of a small shop.</p>;
  return (
    <div className="flex flex-col items-start gap-2 py-2 text-sm">
      <p>No data yet? Create a demo, a separate project with a year of a small shop. {command} does the same.</p>
      <Button busy={create.isPending} onClick={() => create.mutate()}>
        Create demo project
      </Button>
      {create.isPending && (
        <p role="status" className="text-xs text-soft">
          {stepTexts[step]}
        </p>
      )}
      <ErrorNote error={create.error} />
    </div>
  );
}

/** Says that the project is the demo, and removes it. Renders nothing in other projects. */
export function DemoNotice() {
  const project = useProject();
  const isAdmin = useHasRole('admin');
  const [open, setOpen] = useState(false);
  const { data: config } = useQuery({ ...demoConfigQuery(project), enabled: isAdmin });
  if (config === undefined || config === null) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-lg border border-line bg-surface px-4 py-3 text-sm">
      <p className="min-w-0 flex-1 basis-60">
        This project has demo data: a year of a shop that does not exist. Your own data belongs in another project.
      </p>
      <Button onClick={() => setOpen(true)}>Remove demo</Button>
      {open && <RemoveDialog config={config} onClose={() => setOpen(false)} />}
    </div>
  );
}

function RemoveDialog({ config, onClose }: { readonly config: number; readonly onClose: () => void }) {
  const project = useProject();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const remove = useMutation({
    mutationFn: async () => {
      const { removeDemo } = await loadDemo();
      const left = await removeDemo(client, { project, config }, new AbortController().signal);
      if (left !== undefined) throw new Error(`The import could not be undone, it is ${left.state}: ${left.reason}`);
    },
    onSuccess: async () => {
      // Before navigating: '/' must not redirect to the deleted project.
      queries.setQueryData(projectsQuery.queryKey, (page) =>
        page === undefined ? page : { ...page, results: page.results.filter(({ id }) => id !== project.id) },
      );
      await navigate({ to: '/' });
      await refresh(queries, '/api/projects');
      toast.done('Demo removed.');
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      title="Remove the demo?"
      confirm="Remove demo"
      busy={remove.isPending}
      error={remove.error}
    >
      <p>Undoes the import of the demo and deletes this project, with everything that was added to it.</p>
    </ConfirmDialog>
  );
}

/** Null: the project is not the demo. */
function demoConfigQuery(project: ProjectRecord) {
  return queryOptions({
    queryKey: ['demo', project.id, project.name],
    queryFn: async () => (await (await loadDemo()).demoConfig(client, project)) ?? null,
  });
}

/** Loads the module when it is needed: few visits do. */
function loadDemo(): Promise<typeof demo> {
  return import('../../../../src/demo/demo.ts');
}
