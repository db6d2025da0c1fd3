import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { RetentionPolicy, RetentionPreview } from '../../../../src/wire/contract/retention.ts';
import { projectPath } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Notice } from '../../components/notice.tsx';
import { counted } from '../../components/format-number.ts';
import { NumberText } from '../../components/number-text.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';

interface PreviewDialogProps {
  readonly policy: RetentionPolicy;
  /** The policy differs from the saved one. */
  readonly canSave: boolean;
  readonly saving: boolean;
  readonly error: unknown;
  readonly onClose: () => void;
  readonly onSave: (preview: RetentionPreview) => void;
}

/** Shows what a policy would remove now, and saves it once the name of the project is typed. */
export function RetentionPreviewDialog({ policy, canSave, saving, error, onClose, onSave }: PreviewDialogProps) {
  const { id, name } = useProject();
  const [typed, setTyped] = useState('');
  const {
    data: preview,
    error: fault,
    refetch,
  } = useQuery({
    queryKey: [projectPath(id, 'retention/preview'), policy],
    queryFn: ({ signal }) =>
      request<RetentionPreview>(projectPath(id, 'retention/preview'), { method: 'POST', body: policy, signal }),
    // What it counts changes with every event.
    gcTime: 0,
    staleTime: Infinity,
  });
  const isRemoving = preview !== undefined && preview.newly_expired > 0;
  const isConfirmed = preview !== undefined && (!isRemoving || typed === name);
  return (
    <Dialog
      open
      onClose={onClose}
      title="What this policy removes"
      size="large"
      footer={
        <>
          <Button onClick={onClose}>{canSave ? 'Cancel' : 'Close'}</Button>
          {canSave && (
            <Button
              kind={isRemoving ? 'danger' : 'primary'}
              busy={saving}
              disabled={!isConfirmed}
              onClick={() => preview !== undefined && onSave(preview)}
            >
              Save policy
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-4 text-sm">
        {preview !== undefined && <Totals preview={preview} />}
        <DataTable
          label="Events that would be removed"
          columns={columns}
          rows={preview?.cells}
          rowId={(row) => `${row.month} ${row.historical_migration} ${row.event}`}
          error={fault}
          onRetry={() => void refetch()}
          empty={<EmptyState title="Nothing to remove">All stored events are kept by this policy.</EmptyState>}
          maxHeight="40vh"
        />
        {canSave && isRemoving && (
          <>
            <p>
              This cannot be undone. To confirm, type the name of the project: <UserText text={name} />
            </p>
            <TextInput label="Project name" value={typed} onChange={setTyped} autoComplete="off" />
          </>
        )}
        <ErrorNote error={error} />
      </div>
    </Dialog>
  );
}

function Totals({ preview }: { readonly preview: RetentionPreview }) {
  if (preview.events === 0) return null;
  return (
    <Notice tone={preview.newly_expired > 0 ? 'warn' : 'info'}>
      {counted(preview.events, 'event')}, about <NumberText value={preview.bytes} unit="bytes" />, would be removed now.
      The current policy keeps <NumberText value={preview.newly_expired} /> of them.
      {preview.is_truncated && ' The table shows only the first 5,000 rows; the numbers count all.'}
    </Notice>
  );
}

const columns: readonly Column<RetentionPreview['cells'][number]>[] = [
  { id: 'month', header: 'Month', width: '6rem', cell: (row) => row.month },
  { id: 'event', header: 'Event', cell: (row) => <UserText text={row.event} charsMax={80} short /> },
  { id: 'kind', header: 'Kind', width: '7rem', cell: (row) => (row.historical_migration ? 'historical' : 'live') },
  { id: 'events', header: 'Events', width: '8rem', align: 'end', cell: (row) => <NumberText value={row.events} /> },
  {
    id: 'bytes',
    header: 'Size, about',
    width: '8rem',
    align: 'end',
    cell: (row) => <NumberText value={row.bytes} unit="bytes" />,
  },
];
