import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type ProjectRecord, projectsQuery } from '../../api/projects.ts';
import { refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Facts } from '../../components/facts.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UnsavedGuard } from '../../components/unsaved-guard.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { NotificationsSection } from './notifications-section.tsx';
import { LimitsSection } from './limits-section.tsx';
import { RetentionSection } from './retention-section.tsx';

/** The settings of a project. */
export function SettingsPage() {
  const { id, uuid, created_at: createdAt } = useProject();
  return (
    <>
      <PageHeader
        title="Settings"
        description="Name, time zone, key, notifications, limits and retention of this project."
      />
      <div className="flex flex-col gap-4">
        <GeneralSection key={id} />
        <ProjectKeySection />
        <NotificationsSection key={`notifications ${id}`} />
        <LimitsSection key={`limits ${id}`} />
        <RetentionSection key={`retention ${id}`} />
        <Section title="About">
          <Facts
            facts={[
              ['Id', <code key="id">{id}</code>],
              ['UUID', <code key="uuid">{uuid}</code>],
              ['Created', <TimeText key="created" time={createdAt} />],
            ]}
          />
        </Section>
        <DeleteSection />
      </div>
    </>
  );
}

/** Name and time zone. */
function GeneralSection() {
  const project = useProject();
  const canEdit = useHasRole('editor');
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState(project.name);
  const [timezone, setTimezone] = useState(project.timezone);
  const save = useMutation({
    mutationFn: () => changeProject(project.id, { name: name.trim(), timezone }),
    onSuccess: async () => {
      await refresh(client, '/api/projects');
      toast.done('Settings saved.');
    },
  });
  const dirty = name !== project.name || timezone !== project.timezone;
  return (
    <Section title="General">
      <UnsavedGuard dirty={dirty && !save.isPending} />
      <form
        className="flex max-w-xl flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextInput label="Name" value={name} onChange={setName} maxLength={200} required disabled={!canEdit} />
        <Select
          label="Time zone"
          hint="Used for times in the console and days in charts."
          value={timezone}
          choices={zonesWith(timezone)}
          onChange={setTimezone}
          disabled={!canEdit}
        />
        <ErrorNote error={save.error} />
        {canEdit && (
          <div>
            <Button kind="primary" type="submit" busy={save.isPending} disabled={!dirty || name.trim() === ''}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Section>
  );
}

/** Returns the zones that the browser supports, and the current one. */
function zonesWith(current: string): { readonly value: string; readonly label: string }[] {
  const zones = new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')]);
  return [...zones].map((value) => ({ value, label: value }));
}

/** The key that client libraries use to send events. */
function ProjectKeySection() {
  const { id, api_token: key } = useProject();
  const canEdit = useHasRole('admin');
  const client = useQueryClient();
  const toast = useToast();
  const [pending, setPending] = useState(false);
  const reset = useMutation({
    mutationFn: () => resetProjectKey(id),
    onSuccess: async () => {
      await refresh(client, '/api/projects');
      setPending(false);
      toast.done('Project key reset. The old key is refused.');
    },
  });
  return (
    <Section
      title="Project key"
      description="Client libraries use this key to send events. It is public and allows nothing else."
      actions={canEdit && <Button onClick={() => setPending(true)}>Reset key</Button>}
    >
      <CodeBlock code={key} label="Copy project key" />
      <ConfirmDialog
        open={pending}
        onClose={() => setPending(false)}
        onConfirm={() => reset.mutate()}
        title="Reset the project key?"
        confirm="Reset key"
        busy={reset.isPending}
        error={reset.error}
      >
        <p>Programs and pages that use the current key are refused immediately, and their events are lost.</p>
      </ConfirmDialog>
    </Section>
  );
}

/** Deletes the project; visible to admins only. */
function DeleteSection() {
  const [open, setOpen] = useState(false);
  if (!useHasRole('admin')) return null;
  return (
    <Section title="Delete project" description="Permanently deletes its configs, persons, groups and keys.">
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
      // Before navigating: '/' must not redirect to the deleted project.
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
            Delete permanently
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        <p>
          This cannot be undone. To confirm, type the name of the project: <UserText text={name} />
        </p>
        <TextInput label="Project name" value={typed} onChange={setTyped} autoComplete="off" />
        <ErrorNote error={remove.error} />
      </div>
    </Dialog>
  );
}

interface ProjectChange {
  readonly name: string;
  readonly timezone: string;
}

const path = (id: number): string => `/api/projects/${id}`;

function changeProject(id: number, change: ProjectChange): Promise<ProjectRecord> {
  return request<ProjectRecord>(path(id), { method: 'PATCH', body: change });
}

/** Replaces the project key; the old one is refused from then on. */
function resetProjectKey(id: number): Promise<ProjectRecord> {
  return request<ProjectRecord>(`${path(id)}/reset_token`, { method: 'POST' });
}

function deleteProject(id: number): Promise<void> {
  return request<void>(path(id), { method: 'DELETE' });
}
