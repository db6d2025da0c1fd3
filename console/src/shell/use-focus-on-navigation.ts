import { useRouterState } from '@tanstack/react-router';
import { useLayoutEffect, useRef, type RefObject } from 'react';

/** After a change of page the focus is at its beginning, as after a load; a change of filters leaves it where it is. */
export function useFocusOnNavigation(): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(pathname);
  // Before the page is painted: later it would take the focus from what somebody has gone to meanwhile.
  useLayoutEffect(() => {
    if (before.current !== undefined && before.current !== pathname) {
      ref.current?.focus({ preventScroll: true });
      ref.current?.scrollTo({ top: 0 });
    }
    before.current = pathname;
  }, [pathname]);
  return ref;
}
