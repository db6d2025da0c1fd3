import { useLayoutEffect, useRef, useState, type KeyboardEvent as ReactKeyboardEvent, type RefObject } from 'react';
import { isTyping } from '../shell/is-typing.ts';

interface RowKeysOptions {
  readonly count: number;
  readonly scrollRef: RefObject<HTMLElement | null>;
  readonly show: (index: number) => void;
  readonly open: (index: number) => void;
}

interface RowKeys {
  /** Row that the keys stand on. */
  readonly active: number | undefined;
  readonly onKeyDown: (event: ReactKeyboardEvent<HTMLElement>) => void;
}

const steps: Readonly<Record<string, number>> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

/** j and k, or the arrows once the table has the focus, go through the rows; Enter opens one. */
export function useRowKeys({ count, scrollRef, show, open }: RowKeysOptions): RowKeys {
  const [active, setActive] = useState<number>();
  const go = (step: number): void => {
    const next = active === undefined ? 0 : Math.min(count - 1, Math.max(0, active + step));
    setActive(next);
    show(next);
    const rowOf = () => scrollRef.current?.querySelector<HTMLElement>(`tr[data-index="${next}"]`);
    // At once where it can be: the next key may come before the next frame, and Enter is for the row with the focus.
    const drawn = rowOf();
    if (drawn) drawn.focus();
    else requestAnimationFrame(() => rowOf()?.focus());
  };
  const latest = useRef(go);
  latest.current = go;
  // Before the rows are painted: who sees them may type.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isElsewhere = event.target !== document.body && event.target !== document.getElementById('main');
      if (isElsewhere || isTyping(event) || (event.key !== 'j' && event.key !== 'k')) return;
      event.preventDefault();
      latest.current(steps[event.key] ?? 0);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const onKeyDown = (event: ReactKeyboardEvent<HTMLElement>): void => {
    if (isTyping(event.nativeEvent)) return;
    const step = steps[event.key];
    const isOnRow = event.target instanceof HTMLTableRowElement;
    if (step !== undefined) {
      event.preventDefault();
      go(step);
    } else if (event.key === 'Enter' && isOnRow && active !== undefined) open(active);
  };
  return { active, onKeyDown };
}
