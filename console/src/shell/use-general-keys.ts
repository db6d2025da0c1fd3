import { useLayoutEffect, useRef } from 'react';
import { isTyping } from './is-typing.ts';

interface GeneralKeys {
  readonly onPalette: () => void;
  readonly onShortcuts: () => void;
}

/** Keys that mean the same on every page: mod+k, `?`, and mod+enter, which sends the form that is being filled in. */
export function useGeneralKeys(keys: GeneralKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Before anything is painted: who sees a page may type.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isMod = event.metaKey || event.ctrlKey;
      if (isMod && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        latest.current.onPalette();
      } else if (isMod && event.key === 'Enter' && !event.defaultPrevented) {
        if (event.target instanceof Element) event.target.closest('form')?.requestSubmit();
      } else if (event.key === '?' && !isTyping(event)) latest.current.onShortcuts();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}
