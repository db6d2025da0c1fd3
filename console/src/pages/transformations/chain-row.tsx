import { useSortable } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { Link } from '@tanstack/react-router';
import { Ellipsis, GripVertical } from 'lucide-react';
import { memo, useCallback, useMemo } from 'react';
import type { PluginMetricsListRecord } from '../../../../src/wire/contract/plugin-view.ts';
import { classNames } from '../../components/class-names.ts';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu } from '../../components/menu.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Switch } from '../../components/switch.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { pluginInfo, type Transformation } from './transformation-queries.ts';
import type { ChainChanges } from './use-chain-changes.ts';
import { plainText } from '../../components/plain-text.ts';

type Deliveries = PluginMetricsListRecord['results'][number];

interface ChainRowProps {
  readonly row: Transformation;
  /** Its place among those that fit the filters, and how many they are. */
  readonly index: number;
  readonly shown: number;
  /** Its place in the list, in pixels. */
  readonly top: number;
  readonly measure: (element: HTMLElement | null) => void;
  /** Its place in the chain, from 0. */
  readonly place: number;
  readonly count: number;
  readonly deliveries: Deliveries | undefined;
  readonly changes: ChainChanges;
  readonly mayEdit: boolean;
  readonly mayDrag: boolean;
}

/** One step of the chain. */
export function ChainRow(props: ChainRowProps) {
  const { row, index, shown, top, measure, place, count, deliveries, changes, mayEdit, mayDrag } = props;
  const sortable = useSortable({ id: row.id, disabled: !mayDrag });
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
      {mayDrag && (
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
      <RowBody row={row} place={place} count={count} deliveries={deliveries} changes={changes} mayEdit={mayEdit} />
    </li>
  );
}

type RowBodyProps = Pick<ChainRowProps, 'row' | 'place' | 'count' | 'deliveries' | 'changes' | 'mayEdit'>;

/** Whenever a row comes into view, all tell each other of their places: what they show must not be drawn again for that. */
const RowBody = memo(Body);

function Body({ row, place, count, deliveries, changes, mayEdit }: RowBodyProps) {
  return (
    <>
      <span
        className="w-6 shrink-0 text-right text-xs text-soft tabular-nums"
        aria-label={`Step ${place + 1}`}
        role="note"
      >
        {place + 1}
      </span>
      <Switch
        label={`${plainText(row.name)} is on`}
        checked={row.enabled}
        disabled={!mayEdit}
        onChange={(enabled) => changes.toggle(row, enabled)}
      />
      <Names row={row} />
      <Flow deliveries={deliveries} name={row.name} />
      {mayEdit && <RowMenu row={row} place={place} count={count} changes={changes} />}
    </>
  );
}

function Names({ row }: { readonly row: Transformation }) {
  const { id } = useProject();
  const plugin = useMemo(() => pluginInfo(row), [row]);
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

/** Its events of the last 24 hours. */
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

function RowMenu({ row, place, count, changes }: Pick<ChainRowProps, 'row' | 'place' | 'count' | 'changes'>) {
  const up = (): void => changes.moveTo(row, place - 1);
  const down = (): void => changes.moveTo(row, place + 1);
  return (
    <Menu
      trigger={
        <IconButton
          label={`Actions of ${row.name}`}
          size="small"
          icon={<Ellipsis aria-hidden="true" className="size-4" />}
        />
      }
      groups={[
        [
          { label: 'Move up', onSelect: up, disabled: place === 0 },
          { label: 'Move down', onSelect: down, disabled: place === count - 1 },
          { label: 'Move to the top', onSelect: () => changes.moveTo(row, 0), disabled: place === 0 },
          {
            label: 'Move to the bottom',
            onSelect: () => changes.moveTo(row, count - 1),
            disabled: place === count - 1,
          },
        ],
        [{ label: 'Move to the bin', danger: true, onSelect: () => changes.toBin(row) }],
      ]}
    />
  );
}
