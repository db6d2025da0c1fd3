import type { UniqueIdentifier } from '@dnd-kit/core';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState, type RefObject } from 'react';
import type { Transformation } from './transformation-queries.ts';

const rowHeight = 62;
const overscan = 6;

interface RowInView {
  readonly row: Transformation;
  readonly index: number;
  /** Pixels below the top of the list. */
  readonly top: number;
}

export interface RowsInView {
  readonly listRef: RefObject<HTMLOListElement | null>;
  readonly rows: readonly RowInView[];
  /** Of the whole list, in pixels. */
  readonly height: number;
  readonly measure: (element: HTMLElement | null) => void;
}

/**
 * Those rows of a long list that are in view or near it, while the page scrolls: a chain of hundreds is drawn as quickly as one of
 * ten. The one that is dragged stays, wherever it was taken from.
 */
export function useRowsInView(rows: readonly Transformation[], draggedId: UniqueIdentifier | undefined): RowsInView {
  const listRef = useRef<HTMLOListElement>(null);
  const [above, setAbove] = useState(0);
  // What stands above the list may grow or shrink with any drawing of the page.
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
