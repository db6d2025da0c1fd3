import {
  type Announcements,
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  type Modifier,
  PointerSensor,
  type UniqueIdentifier,
  useSensor,
  useSensors,
} from '@dnd-kit/core';
import {
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { Ellipsis, GripVertical } from 'lucide-react';
import { memo, type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { PluginMetricsListRecord } from '../../../../src/wire/contract/plugin-view.ts';
import { classNames } from '../../components/class-names.ts';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu } from '../../components/menu.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { plainText } from '../../components/plain-text.ts';
import { Sparkline } from '../../components/sparkline.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Switch } from '../../components/switch.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { filterSummary } from './event-filter.ts';
import { deliveriesQuery, pluginInfo, settingsOf, type Transformation } from './transformation-queries.ts';
import { type ChainChanges, useChainChanges } from './use-chain-changes.ts';

const pollMs = 30_000;
const onlyVertical: Modifier = ({ transform }) => ({ ...transform, x: 0 });
const instructions = {
  draggable:
    'Press space or enter to pick up the step and the arrow keys to move it. Press space or enter to drop it, escape to cancel.',
};

interface ChainListProps {
  /** Steps that match the filters. */
  readonly rows: readonly Transformation[];
  readonly all: readonly Transformation[];
}

/** The chain. Steps are reordered by dragging with pointer or keyboard, or from the row menu. */
export function ChainList({ rows, all }: ChainListProps) {
  const { id } = useProject();
  const canEdit = useHasRole('editor');
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
    const position = all.findIndex((each) => each.id === over?.id);
    if (row !== undefined && position >= 0 && active.id !== over?.id) changes.moveTo(row, position);
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
          aria-label="Transformations in order"
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
              position={all.indexOf(row)}
              count={all.length}
              deliveries={byId.get(row.id)}
              changes={changes}
              canEdit={canEdit}
              // Not while filtered: hidden rows have no position to drop a step.
              canDrag={canEdit && rows.length === all.length && all.length > 1}
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
    onDragCancel: ({ active }) => `${nameOf(active.id)} was not moved.`,
  };
}

type Deliveries = PluginMetricsListRecord['results'][number];

interface ChainRowProps {
  readonly row: Transformation;
  /** Index among the rows that match the filters, and their number. */
  readonly index: number;
  readonly shown: number;
  /** Offset in the list, in pixels. */
  readonly top: number;
  readonly measure: (element: HTMLElement | null) => void;
  /** Index in the chain, from 0. */
  readonly position: number;
  readonly count: number;
  readonly deliveries: Deliveries | undefined;
  readonly changes: ChainChanges;
  readonly canEdit: boolean;
  readonly canDrag: boolean;
}

/** One step of the chain. */
function ChainRow(props: ChainRowProps) {
  const { row, index, shown, top, measure, position, count, deliveries, changes, canEdit, canDrag } = props;
  const sortable = useSortable({ id: row.id, disabled: !canDrag });
  const { setNodeRef, setActivatorNodeRef, attributes, listeners, transform, transition, isDragging } = sortable;
  const ref = useCallback(
    (element: HTMLLIElement | null) => {
      setNodeRef(element);
      measure(element);
    },
    [setNodeRef, measure],
  );
  return (
    <li
      ref={ref}
      data-index={index}
      aria-setsize={shown}
      aria-posinset={index + 1}
      style={{ top, transform: CSS.Translate.toString(transform), transition }}
      className={classNames(
        'absolute inset-x-0 flex flex-wrap items-center gap-x-3 gap-y-1 border-line px-3 py-2.5 sm:flex-nowrap',
        index > 0 && 'border-t',
        isDragging && 'z-10 rounded-lg bg-surface shadow-float',
      )}
    >
      {canDrag && (
        <button
          type="button"
          ref={setActivatorNodeRef}
          {...attributes}
          {...listeners}
          aria-label={plainText(`Move ${row.name}`)}
          className="-ml-1 flex size-7 shrink-0 cursor-grab touch-none items-center justify-center rounded text-faint hover:bg-hover hover:text-ink"
        >
          <GripVertical aria-hidden="true" className="size-4" />
        </button>
      )}
      <RowBody
        row={row}
        position={position}
        count={count}
        deliveries={deliveries}
        changes={changes}
        canEdit={canEdit}
      />
    </li>
  );
}

type RowBodyProps = Pick<ChainRowProps, 'row' | 'position' | 'count' | 'deliveries' | 'changes' | 'canEdit'>;

/** Memoised: the drag context re-renders every row whenever one comes into view. */
const RowBody = memo(Body);

function Body({ row, position, count, deliveries, changes, canEdit }: RowBodyProps) {
  return (
    <>
      <span
        className="w-6 shrink-0 text-right text-xs text-soft tabular-nums"
        aria-label={`Step ${position + 1}`}
        role="note"
      >
        {position + 1}
      </span>
      <Switch
        label={`Enable ${plainText(row.name)}`}
        checked={row.enabled}
        disabled={!canEdit}
        onChange={(enabled) => changes.toggle(row, enabled)}
      />
      <Names row={row} />
      <Flow deliveries={deliveries} name={row.name} />
      {canEdit && <RowMenu row={row} position={position} count={count} changes={changes} />}
    </>
  );
}

function Names({ row }: { readonly row: Transformation }) {
  const { id } = useProject();
  const plugin = useMemo(() => pluginInfo(row), [row]);
  const filter = useMemo(() => filterSummary(settingsOf(row)), [row]);
  return (
    <div className="min-w-0 flex-1 basis-40">
      <Link
        to="/projects/$projectId/transformations/$configId"
        params={{ projectId: String(id), configId: String(row.id) }}
        className="font-medium hover:underline"
      >
        <UserText text={row.name} charsMax={100} short />
      </Link>
      <p className="truncate text-xs text-soft">
        {plugin.name !== row.name && (
          <>
            <UserText text={plugin.name} charsMax={60} short />
            {' · '}
          </>
        )}
        {filter !== '' && (
          <>
            Only <UserText text={filter} charsMax={80} short />
            {' · '}
          </>
        )}
        <UserText text={row.description === '' ? `Version ${plugin.version}` : row.description} charsMax={200} short />
      </p>
      {row.error !== '' && (
        <p className="mt-1 flex flex-wrap items-center gap-x-2 text-xs text-danger">
          <StatusBadge tone="danger">failing</StatusBadge>
          <UserText text={row.error} charsMax={200} />
        </p>
      )}
    </div>
  );
}

/** Events of the step in the last 24 hours. */
function Flow({ deliveries, name }: { readonly deliveries: Deliveries | undefined; readonly name: string }) {
  if (deliveries === undefined) return <div className="hidden h-9 w-56 shrink-0 sm:block" />;
  const { succeeded, dropped, totals } = deliveries;
  const through = succeeded.map((value, index) => value + (dropped[index] ?? 0));
  return (
    <div className="ml-9 flex w-56 shrink-0 items-center gap-3 sm:ml-0">
      <Sparkline values={through} label={`Events through ${plainText(name)} by hour, last 24 hours`} />
      <p className="text-xs text-soft">
        <NumberText value={totals.succeeded + totals.dropped} unit="short" /> in 24 h
        <span className="block">
          {totals.failed > 0 && (
            <span className="text-danger">
              <NumberText value={totals.failed} unit="short" /> failed{' '}
            </span>
          )}
          {totals.dropped > 0 && (
            <span>
              <NumberText value={totals.dropped} unit="short" /> dropped
            </span>
          )}
        </span>
      </p>
    </div>
  );
}

function RowMenu({ row, position, count, changes }: Pick<ChainRowProps, 'row' | 'position' | 'count' | 'changes'>) {
  const up = (): void => changes.moveTo(row, position - 1);
  const down = (): void => changes.moveTo(row, position + 1);
  return (
    <Menu
      trigger={
        <IconButton
          label={`Actions for ${row.name}`}
          size="small"
          icon={<Ellipsis aria-hidden="true" className="size-4" />}
        />
      }
      groups={[
        [
          { label: 'Move up', onSelect: up, disabled: position === 0 },
          { label: 'Move down', onSelect: down, disabled: position === count - 1 },
          { label: 'Move to top', onSelect: () => changes.moveTo(row, 0), disabled: position === 0 },
          {
            label: 'Move to bottom',
            onSelect: () => changes.moveTo(row, count - 1),
            disabled: position === count - 1,
          },
        ],
        [{ label: 'Move to bin', danger: true, onSelect: () => changes.toBin(row) }],
      ]}
    />
  );
}

const rowHeight = 62;
const overscan = 6;

interface RowInView {
  readonly row: Transformation;
  readonly index: number;
  /** Offset from the top of the list, in pixels. */
  readonly top: number;
}

interface RowsInView {
  readonly listRef: RefObject<HTMLOListElement | null>;
  readonly rows: readonly RowInView[];
  /** Height of the whole list, in pixels. */
  readonly height: number;
  readonly measure: (element: HTMLElement | null) => void;
}

/**
 * Returns the rows in or near the view, so that a chain of hundreds renders as fast as one of ten. The dragged row is always
 * included.
 */
function useRowsInView(rows: readonly Transformation[], draggedId: UniqueIdentifier | undefined): RowsInView {
  const listRef = useRef<HTMLOListElement>(null);
  const [above, setAbove] = useState(0);
  // Content above the list may change height with any render of the page.
  useLayoutEffect(() => setAbove(distanceToTop(listRef.current)));
  const dragged = draggedId === undefined ? -1 : rows.findIndex(({ id }) => id === draggedId);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrollerOf(listRef.current),
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    scrollMargin: above,
    overscan,
    rangeExtractor: (range) => {
      const near = defaultRangeExtractor(range);
      return dragged < 0 || near.includes(dragged) ? near : [...near, dragged].toSorted((a, b) => a - b);
    },
    useFlushSync: false,
  });
  return {
    listRef,
    rows: virtualizer.getVirtualItems().flatMap(({ index, start }) => {
      const row = rows[index];
      return row === undefined ? [] : [{ row, index, top: start - above }];
    }),
    height: virtualizer.getTotalSize(),
    measure: virtualizer.measureElement,
  };
}

function scrollerOf(list: HTMLElement | null): HTMLElement | null {
  return list?.closest('main') ?? null;
}

function distanceToTop(list: HTMLElement | null): number {
  const scroller = scrollerOf(list);
  if (list === null || scroller === null) return 0;
  return Math.round(list.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop);
}
