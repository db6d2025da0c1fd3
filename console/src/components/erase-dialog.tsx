import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ComponentProps } from 'react';
import type { ErasureCounts, ErasureStart } from '../../../src/wire/contract/erasures.ts';
import { refresh } from '../api/queries.ts';
import { Button } from './button.tsx';
import { Checkbox } from './checkbox.tsx';
import { type Column, DataTable } from './data-table.tsx';
import { Dialog } from './dialog.tsx';
import { EmptyState } from './empty-state.tsx';
import { ErrorNote } from './error-note.tsx';
import { counted } from './format-number.ts';
import { Notice } from './notice.tsx';
import { NumberText } from './number-text.tsx';
import { TextInput } from './text-input.tsx';
import { UserText } from './user-text.tsx';
import { useProject } from '../shell/project-context.tsx';
import { countErasure, erasuresPath, startErasure } from '../api/erasures.ts';

interface EraseDialogProps {
  readonly body: ErasureStart;
  /** What must be typed to confirm, and what it is: "the name of the project". */
  readonly confirm: string;
  readonly confirmLabel: string;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}

/** Shows what an erasure would remove now, and starts it once a text is typed. */
export function EraseDialog({ body, confirm, confirmLabel, onClose, onStarted }: EraseDialogProps) {
  const { id } = useProject();
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const [isKeptOut, setIsKeptOut] = useState(false);
  const { data: counts, error } = useQuery({
    queryKey: [`${erasuresPath(id)}/dry_run`, body],
    queryFn: ({ signal }) => countErasure(id, body, signal),
    // What it counts changes with every event.
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
  });
  const start = useMutation({
    mutationFn: () => startErasure(id, { ...body, ...(isKeptOut && { keep_out: true }) }),
    onSuccess: async () => {
      await refresh(client, erasuresPath(id));
      onStarted();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="What is erased"
      size="large"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="danger"
            busy={start.isPending}
            disabled={counts === undefined || typed !== confirm}
            onClick={() => start.mutate()}
          >
            Erase permanently
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 text-sm">
        {counts !== undefined && <Totals counts={counts} isFilter={body.selection !== undefined} />}
        {error === null ? (
          <DataTable
            label="Events that are erased"
            columns={columns}
            rows={counts && rowsOf(counts)}
            rowId={(row) => `${row.by} ${row.name}`}
            empty={<EmptyState title="No events">Nothing is stored of this selection.</EmptyState>}
            maxHeight="40vh"
          />
        ) : (
          <ErrorNote error={error} />
        )}
        {body.selection === undefined && <KeepOut checked={isKeptOut} onChange={setIsKeptOut} />}
        <p>
          This cannot be undone. To confirm, type {confirmLabel}: <UserText text={confirm} charsMax={200} />
        </p>
        <TextInput label="Confirmation" value={typed} onChange={setTyped} autoComplete="off" />
        <ErrorNote error={start.error} />
      </div>
    </Dialog>
  );
}

function KeepOut(props: Pick<ComponentProps<typeof Checkbox>, 'checked' | 'onChange'>) {
  return (
    <Checkbox
      label="Keep them out"
      hint="Events of these ids are dropped from now on, live and in imports. Only hashes of the ids are kept."
      {...props}
    />
  );
}

function Totals({ counts, isFilter }: { readonly counts: ErasureCounts; readonly isFilter: boolean }) {
  const { events, persons, dead_letters: deadLetters, other_rows: others, staged_runs: runs } = counts;
  return (
    <Notice tone="warn">
      {counted(events, 'event')} {events === 1 ? 'is' : 'are'} erased.{' '}
      {isFilter
        ? `${counted(persons, 'person')} and their groups are computed again from what remains.`
        : `So are ${counted(persons, 'person')}, ${counted(deadLetters, 'dead letter')}, ${counted(others, 'other row')} and the staged files of ${counted(runs.length, 'import run')}.`}
    </Notice>
  );
}

interface CountRow {
  readonly by: 'Event' | 'Month';
  readonly name: string;
  readonly events: number;
}

function rowsOf({ by_name: names, by_month: months }: ErasureCounts): readonly CountRow[] {
  const rows = (by: CountRow['by'], counts: Readonly<Record<string, number>>): CountRow[] =>
    Object.entries(counts).map(([name, events]) => ({ by, name, events }));
  return [...rows('Event', names), ...rows('Month', months)];
}

const columns: readonly Column<CountRow>[] = [
  { id: 'by', header: 'By', width: '6rem', cell: (row) => row.by },
  { id: 'name', header: 'Value', cell: (row) => <UserText text={row.name} charsMax={80} short /> },
  { id: 'events', header: 'Events', width: '8rem', align: 'end', cell: (row) => <NumberText value={row.events} /> },
];
