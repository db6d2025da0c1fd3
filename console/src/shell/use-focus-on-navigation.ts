import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type RefObject } from 'react';

/** After a change of page the focus is at its beginning, as after a load; a change of filters leaves it where it is. */
export function useFocusOnNavigation(): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current !== undefined && before.current !== pathname) {
      ref.current?.focus({ preventScroll: true });
      ref.current?.scrollTo({ top: 0 });
    }
    before.current = pathname;
  }, [pathname]);
  return ref;
}
