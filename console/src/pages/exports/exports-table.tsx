import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ExportRecord } from '../../../../src/wire/contract/exports.ts';
import { refresh } from '../../api/queries.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button, buttonStyle } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { describeSelection } from '../../components/event-selection.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { exportFormatLabels, exportPlaceLabels, exportTableLabels } from './export-labels.ts';
import { cancelExport, deleteExport, exportsPath, exportsQuery, filePath, isOpen } from './exports-query.ts';

const pollMs = 1000;
const manifestName = 'manifest.json';

/** Exports with their progress and files. */
export function ExportsTable() {
  const { id: projectId } = useProject();
  const exports = useQuery({
    ...exportsQuery(projectId),
    refetchInterval: ({ state }) => (state.data?.results.some(isOpen) === true ? pollMs : false),
  });
  return (
    <Section title="All exports" flush>
      <DataTable
        label="Exports"
        columns={columns}
        rows={exports.data?.results}
        rowId={({ id }) => id}
        error={exports.error}
        onRetry={() => void exports.refetch()}
        empty={<EmptyState title="No exports">An export appears here with its progress and its files.</EmptyState>}
      />
    </Section>
  );
}

const tones: Readonly<Record<ExportRecord['state'], Tone>> = {
  queued: 'neutral',
  running: 'info',
  done: 'ok',
  failed: 'danger',
  cancelled: 'warn',
};

const columns: readonly Column<ExportRecord>[] = [
  {
    id: 'state',
    header: 'State',
    width: '7rem',
    cell: ({ state }) => <Badge tone={tones[state]}>{state[0]?.toUpperCase() + state.slice(1)}</Badge>,
  },
  { id: 'started', header: 'Started', width: '10.5rem', cell: ({ created_at }) => <TimeText time={created_at} /> },
  { id: 'content', header: 'Content', cell: (record) => <Content record={record} /> },
  { id: 'progress', header: 'Events', width: '9rem', cell: (record) => <Progress record={record} /> },
  { id: 'files', header: 'Files', width: '12rem', cell: (record) => <Files record={record} /> },
  { id: 'actions', header: 'Actions', width: '7rem', cell: (record) => <Actions record={record} /> },
];

function Content({ record: { request, error } }: { readonly record: ExportRecord }) {
  const { tables, format, destination, selection } = request;
  const labelOf = (choices: readonly { readonly value: string; readonly label: string }[], value: string): string =>
    choices.find((choice) => choice.value === value)?.label ?? value;
  const what = tables.map((name) => labelOf(exportTableLabels, name).toLowerCase()).join(', ');
  const which = describeSelection(selection);
  const form = labelOf(exportFormatLabels, format);
  const place = destination.kind === 'service' ? '' : ` to ${labelOf(exportPlaceLabels, destination.kind)}`;
  return (
    <span className="flex min-w-0 flex-col">
      <UserText text={`${form}: ${what}${place}`} charsMax={120} />
      {which !== '' && (
        <span className="text-xs text-soft">
          <UserText text={which} charsMax={200} />
        </span>
      )}
      {error !== '' && (
        <span className="text-xs text-danger">
          <UserText text={error} charsMax={400} />
        </span>
      )}
    </span>
  );
}

function Progress({ record: { progress, state } }: { readonly record: ExportRecord }) {
  if (progress === null) return <span className="text-faint">–</span>;
  const rows = progress.parts.reduce((sum, part) => (part.table === 'events' ? sum + part.rows : sum), 0);
  return (
    <span className="flex flex-col gap-1">
      <span>
        <NumberText value={rows} /> of <NumberText value={progress.events} />
      </span>
      {state === 'running' && <ProgressBar label="Exported" share={rows / Math.max(1, progress.events)} />}
    </span>
  );
}

function Files({ record: { id, state, progress, request } }: { readonly record: ExportRecord }) {
  const { id: projectId } = useProject();
  const [isOpened, setOpened] = useState(false);
  const names = [...(progress?.parts.map(({ name }) => name) ?? []), ...(state === 'done' ? [manifestName] : [])];
  if (request.destination.kind !== 'service' || names.length === 0) return <NumberText value={names.length} />;
  const shown = isOpened ? names : names.slice(-3);
  return (
    <span className="flex flex-col items-start gap-1">
      {shown.map((name) => (
        <a
          key={name}
          href={filePath(projectId, id, name)}
          download={name}
          className="inline-flex min-h-6 items-center text-xs text-link underline"
        >
          {name}
        </a>
      ))}
      {shown.length < names.length && (
        <button type="button" className={buttonStyle('plain', 'small')} onClick={() => setOpened(true)}>
          All {names.length} files
        </button>
      )}
    </span>
  );
}

function Actions({ record }: { readonly record: ExportRecord }) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const canEdit = useHasRole('editor');
  const [asks, setAsks] = useState(false);
  const onSettled = (): Promise<void> => refresh(client, exportsPath(projectId));
  const cancel = useMutation({ mutationFn: () => cancelExport(projectId, record.id), onSettled });
  const remove = useMutation({ mutationFn: () => deleteExport(projectId, record.id), onSuccess: onSettled });
  if (!canEdit) return null;
  if (isOpen(record)) {
    return (
      <Button size="small" busy={cancel.isPending} onClick={() => cancel.mutate()}>
        Cancel
      </Button>
    );
  }
  return (
    <>
      <Button size="small" onClick={() => setAsks(true)}>
        Delete
      </Button>
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        onConfirm={() => remove.mutate()}
        title="Delete this export?"
        confirm="Delete export"
        busy={remove.isPending}
        error={remove.error}
      >
        Its files in the service are removed. Files that were sent to a bucket stay there.
      </ConfirmDialog>
    </>
  );
}
