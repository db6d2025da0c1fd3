import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { refresh } from '../../api/queries.ts';
import { useAnnounce } from '../../components/announcer.tsx';
import { useToast } from '../../components/toasts.tsx';
import { movedTo } from './chain-order.ts';
import { change, chainQuery, move, transformationsPath, type Transformation } from './transformation-queries.ts';

export interface ChainChanges {
  readonly toggle: (row: Transformation, enabled: boolean) => void;
  /** Moves a row to an index in the chain. */
  readonly moveTo: (row: Transformation, position: number) => void;
  readonly toBin: (row: Transformation) => void;
  readonly restore: (row: Transformation) => void;
}

/** Returns optimistic changes of the chain, rolled back on errors. The object is stable, so that rows do not re-render. */
export function useChainChanges(projectId: number): ChainChanges {
  const changes = useChanges(projectId);
  const latest = useRef(changes);
  latest.current = changes;
  return useMemo(
    () => ({
      toggle: (row, enabled) => latest.current.toggle(row, enabled),
      moveTo: (row, position) => latest.current.moveTo(row, position),
      toBin: (row) => latest.current.toBin(row),
      restore: (row) => latest.current.restore(row),
    }),
    [],
  );
}

function useChanges(projectId: number): ChainChanges {
  const toast = useToast();
  const announce = useAnnounce();
  const toggled = useOptimistic(projectId, (rows, { row, enabled }: { row: Transformation; enabled: boolean }) =>
    rows.map((each) => (each.id === row.id ? { ...each, enabled } : each)),
  );
  const moved = useOptimistic(projectId, (rows, { row, position }: { row: Transformation; position: number }) =>
    movedTo(rows, indexOf(rows, row), position),
  );
  const binned = useOptimistic(projectId, (rows, row: Transformation) => rows.filter(({ id }) => id !== row.id));
  const restored = useOptimistic(projectId, (rows, _row: Transformation) => rows);
  const toggle = (row: Transformation, enabled: boolean): void =>
    toggled(
      { row, enabled },
      () => change(projectId, row.id, { enabled }),
      () => toast.done(`${row.name} ${enabled ? 'enabled' : 'disabled'}.`),
    );
  const restore = (row: Transformation): void =>
    restored(
      row,
      () => change(projectId, row.id, { deleted: false }),
      () => toast.done(`${row.name} restored and disabled.`),
    );
  return {
    toggle,
    restore,
    moveTo: (row, position) =>
      moved(
        { row, position },
        () => move(projectId, row.id, position),
        () => announce(`${row.name} is now step ${position + 1}.`),
      ),
    toBin: (row) =>
      binned(
        row,
        () => change(projectId, row.id, { deleted: true }),
        () => toast.done(`${row.name} moved to the bin.`, () => restore(row)),
      ),
  };
}

type Rows = readonly Transformation[];

function useOptimistic<Change>(projectId: number, apply: (rows: Rows, change: Change) => Rows) {
  const client = useQueryClient();
  const toast = useToast();
  const { queryKey } = chainQuery(projectId);
  const mutation = useMutation({
    mutationFn: ({ send }: { change: Change; send: () => Promise<unknown>; done: () => void }) => send(),
    onMutate: async ({ change }) => {
      await client.cancelQueries({ queryKey });
      const before = client.getQueryData(queryKey);
      if (before !== undefined) {
        client.setQueryData(queryKey, { ...before, results: [...apply(before.results, change)] });
      }
      return before;
    },
    onSuccess: (_result, { done }) => done(),
    onError: (error, _variables, before) => {
      client.setQueryData(queryKey, before);
      toast.error(error);
    },
    onSettled: () => refresh(client, transformationsPath(projectId)),
  });
  return (change: Change, send: () => Promise<unknown>, done: () => void): void =>
    mutation.mutate({ change, send, done });
}

function indexOf(rows: Rows, row: Transformation): number {
  return rows.findIndex(({ id }) => id === row.id);
}
