import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { TrackingPlanRecord } from '../../../../src/wire/contract/tracking-plan.ts';
import { refresh } from '../../api/queries.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { draftOf, type PlanDraft } from './plan-form.ts';
import { planPath, readVersion, removePlan, versionsQuery, type PlanVersion } from './plan-queries.ts';

interface VersionsTabProps {
  readonly record: TrackingPlanRecord;
  readonly canEdit: boolean;
  /** Called with an earlier version, to become the draft. */
  readonly onRestore: (draft: PlanDraft) => void;
}

/** Earlier versions of the plan. */
export function VersionsTab({ record, canEdit, onRestore }: VersionsTabProps) {
  const { id } = useProject();
  const toast = useToast();
  const versions = useQuery(versionsQuery(id));
  const restore = useMutation({
    mutationFn: (version: number) => readVersion(id, version),
    onSuccess: ({ version, plan }) => {
      onRestore(draftOf(plan));
      toast.done(`Version ${version} is in the editor. Save it to restore it.`);
    },
  });
  const { mutate, isPending } = restore;
  const columns = useMemo(
    () => columnsOf(record.version, canEdit && !isPending ? mutate : undefined),
    [record.version, canEdit, isPending, mutate],
  );
  return (
    <div className="flex flex-col gap-4">
      <ErrorNote error={restore.error} />
      <DataTable
        label="Versions of the plan"
        columns={columns}
        rows={versions.data?.results}
        rowId={(row) => String(row.version)}
        error={versions.error}
        onRetry={() => void versions.refetch()}
        empty={<EmptyState title="No versions">Each saved plan appears here, and can be restored.</EmptyState>}
      />
      {canEdit && record.plan !== null && <RemovePlan version={record.version} />}
    </div>
  );
}

function RemovePlan({ version }: { readonly version: number }) {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const [open, setOpen] = useState(false);
  const remove = useMutation({
    mutationFn: () => removePlan(id, version),
    onSuccess: async () => {
      await refresh(client, planPath(id));
      toast.done('Removed the tracking plan. Its versions stay.');
      setOpen(false);
    },
  });
  return (
    <div>
      <Button onClick={() => setOpen(true)}>Remove the plan</Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        onConfirm={() => remove.mutate()}
        title="Remove the tracking plan?"
        confirm="Remove"
        busy={remove.isPending}
        error={remove.error}
      >
        <p>No event is validated from then on. Earlier versions stay and can be restored.</p>
      </ConfirmDialog>
    </div>
  );
}

function columnsOf(current: number, restore: ((version: number) => void) | undefined): readonly Column<PlanVersion>[] {
  return [
    {
      id: 'version',
      header: 'Version',
      width: '9rem',
      cell: ({ version }) => (
        <span className="flex items-center gap-2">
          <NumberText value={version} /> {version === current && <Badge tone="info">current</Badge>}
        </span>
      ),
    },
    {
      id: 'events',
      header: 'Events',
      width: '7rem',
      cell: ({ events }) =>
        events === null ? <span className="text-soft">removed</span> : <NumberText value={events} />,
    },
    { id: 'saved', header: 'Saved', cell: ({ updated_at: at }) => at !== null && <TimeText time={at} /> },
    {
      id: 'by',
      header: 'By',
      cell: ({ updated_by: by }) => (by === null ? 'the service' : <UserText text={by.first_name || by.email} short />),
    },
    {
      id: 'restore',
      header: <span className="sr-only">Restore</span>,
      label: 'Restore',
      width: '9rem',
      cell: ({ version, events }) =>
        restore !== undefined &&
        version !== current &&
        events !== null && (
          <Button size="small" onClick={() => restore(version)}>
            Open in editor<span className="sr-only"> version {version}</span>
          </Button>
        ),
    },
  ];
}
