import {
  closestCenter,
  DndContext,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
  type Announcements,
  type DragEndEvent,
  type Modifier,
  type UniqueIdentifier,
} from '@dnd-kit/core';
import { SortableContext, sortableKeyboardCoordinates, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { ChainRow } from './chain-row.tsx';
import { deliveriesQuery, type Transformation } from './transformation-queries.ts';
import { useChainChanges } from './use-chain-changes.ts';
import { useRowsInView } from './use-rows-in-view.ts';

const pollMs = 30_000;
const onlyVertical: Modifier = ({ transform }) => ({ ...transform, x: 0 });
const instructions = {
  draggable:
    'To move the step, press space or enter. Then use the arrow keys; space or enter drops it, escape leaves it.',
};

interface ChainListProps {
  /** Those that fit the filters. */
  readonly rows: readonly Transformation[];
  readonly all: readonly Transformation[];
}

/** The chain: dragged by its handles with the pointer or the keyboard, or moved from the menu of a row. */
export function ChainList({ rows, all }: ChainListProps) {
  const { id } = useProject();
  const mayEdit = useMay('editor');
  const changes = useChainChanges(id);
  const deliveries = useQuery({ ...deliveriesQuery(id), refetchInterval: pollMs });
  const byId = useMemo(
    () => new Map(deliveries.data?.results.map((each) => [each.plugin_config, each])),
    [deliveries.data],
  );
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const [draggedId, setDraggedId] = useState<UniqueIdentifier>();
  const inView = useRowsInView(rows, draggedId);
  const ids = useMemo(() => rows.map((row) => row.id), [rows]);
  const onDragEnd = ({ active, over }: DragEndEvent): void => {
    setDraggedId(undefined);
    const row = all.find((each) => each.id === active.id);
    const place = all.findIndex((each) => each.id === over?.id);
    if (row !== undefined && place >= 0 && active.id !== over?.id) changes.moveTo(row, place);
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      modifiers={[onlyVertical]}
      onDragStart={({ active }) => setDraggedId(active.id)}
      onDragCancel={() => setDraggedId(undefined)}
      onDragEnd={onDragEnd}
      accessibility={{ announcements: announcementsOf(all), screenReaderInstructions: instructions }}
    >
      <SortableContext items={ids} strategy={verticalListSortingStrategy}>
        <ol
          ref={inView.listRef}
          aria-label="Transformations in their order"
          style={{ height: inView.height }}
          className="relative box-content rounded-lg border border-line bg-surface"
        >
          {inView.rows.map(({ row, index, top }) => (
            <ChainRow
              key={row.id}
              row={row}
              index={index}
              shown={rows.length}
              top={top}
              measure={inView.measure}
              place={all.indexOf(row)}
              count={all.length}
              deliveries={byId.get(row.id)}
              changes={changes}
              mayEdit={mayEdit}
              // Between rows that are not shown there is no place to drop one.
              mayDrag={mayEdit && rows.length === all.length && all.length > 1}
            />
          ))}
        </ol>
      </SortableContext>
    </DndContext>
  );
}

function announcementsOf(all: readonly Transformation[]): Announcements {
  const nameOf = (id: UniqueIdentifier): string => all.find((row) => row.id === id)?.name ?? 'the step';
  const placeOf = (id: UniqueIdentifier | undefined): number => all.findIndex((row) => row.id === id) + 1;
  return {
    onDragStart: ({ active }) => `Picked up ${nameOf(active.id)}, step ${placeOf(active.id)} of ${all.length}.`,
    onDragOver: ({ active, over }) =>
      over === null ? undefined : `${nameOf(active.id)} is over step ${placeOf(over.id)} of ${all.length}.`,
    onDragEnd: ({ active, over }) => `${nameOf(active.id)} was dropped as step ${placeOf(over?.id)} of ${all.length}.`,
    onDragCancel: ({ active }) => `${nameOf(active.id)} stays where it was.`,
  };
}
