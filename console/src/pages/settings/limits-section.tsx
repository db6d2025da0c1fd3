import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  LimitOverrides,
  ProjectLimitName,
  ProjectLimitsRecord,
} from '../../../../src/wire/contract/project-limits.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UnsavedGuard } from '../../components/unsaved-guard.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { defaultText, formOf, limitFault, limitsOf } from './limits-form.ts';

/** What the project may send; only admins change it. */
export function LimitsSection() {
  const { id } = useProject();
  const { data, error, refetch } = useQuery(limitsQuery(id));
  return (
    <Section
      title="Limits"
      description="What the project may send to each lane, live and historical, so that it cannot slow down others. Above a rate, requests get 429; above the backlog, 503. Nothing that was accepted is dropped."
    >
      {data !== undefined && <LimitsFields key={data.updated_at} record={data} />}
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
    </Section>
  );
}

const labels: Readonly<Record<ProjectLimitName, string>> = {
  events_per_second: 'Events per second',
  bytes_per_second: 'Body bytes per second',
  backlog_bytes: 'Body bytes waiting to be stored',
};

function LimitsFields({ record }: { readonly record: ProjectLimitsRecord }) {
  const canEdit = useHasRole('admin');
  const [form, setForm] = useState(() => formOf(record));
  const save = useSave();
  const limits = limitsOf(form);
  const dirty = JSON.stringify(form) !== JSON.stringify(formOf(record));
  return (
    <form
      className="flex max-w-3xl flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (limits !== undefined) save.mutate(limits);
      }}
    >
      <UnsavedGuard dirty={dirty && !save.isPending} />
      <div className="grid items-start gap-4 sm:grid-cols-3">
        {Object.entries(labels).map(([key, label]) => {
          const name = key as ProjectLimitName;
          return (
            <TextInput
              key={name}
              label={label}
              value={form[name]}
              onChange={(text) => setForm({ ...form, [name]: text })}
              error={limitFault(form[name])}
              placeholder={defaultText(record, name)}
              inputMode="numeric"
              disabled={!canEdit}
            />
          );
        })}
      </div>
      <p className="text-sm text-soft">Empty applies the default of the service, 0 means unlimited.</p>
      <ErrorNote error={save.error} />
      {canEdit && (
        <div>
          <Button kind="primary" type="submit" busy={save.isPending} disabled={!dirty || limits === undefined}>
            Save limits
          </Button>
        </div>
      )}
    </form>
  );
}

function useSave() {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: (limits: LimitOverrides) =>
      request<ProjectLimitsRecord>(limitsPath(id), { method: 'PATCH', body: limits }),
    onSuccess: async () => {
      await refresh(client, limitsPath(id));
      toast.done('Limits saved. They apply within seconds.');
    },
  });
}

const limitsPath = (id: number): string => projectPath(id, 'limits');
const limitsQuery = (id: number) => apiQuery<ProjectLimitsRecord>(limitsPath(id));
