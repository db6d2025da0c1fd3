import { Search } from 'lucide-react';
import { lazy, startTransition, Suspense, useState } from 'react';
import { Button } from '../components/button.tsx';
import { useGeneralKeys } from './use-general-keys.ts';

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }));
const ShortcutSheet = lazy(async () => ({ default: (await import('./shortcut-sheet.tsx')).ShortcutSheet }));

/** Opens the command palette (also mod+k); `?` opens the list of shortcuts. Both are loaded when first opened. */
export function PaletteButton() {
  const [open, setOpen] = useState<'palette' | 'shortcuts'>();
  // As a transition: otherwise React holds back what was loaded for 300 ms after it has drawn that it is not there yet.
  const show = (what: 'palette' | 'shortcuts'): void => startTransition(() => setOpen(what));
  useGeneralKeys({ onPalette: () => show('palette'), onShortcuts: () => show('shortcuts') });
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Button kind="plain" icon={<Search aria-hidden="true" className="size-4" />} onClick={() => show('palette')}>
        <span className="sr-only text-soft sm:not-sr-only">Search</span>
        <kbd
          aria-hidden="true"
          className="hidden rounded border border-line px-1 font-sans text-xs text-soft sm:inline"
        >
          Ctrl K
        </kbd>
      </Button>
      <Suspense>
        {open === 'palette' && <CommandPalette onClose={close} onShortcuts={() => show('shortcuts')} />}
        {open === 'shortcuts' && <ShortcutSheet onClose={close} />}
      </Suspense>
    </>
  );
}
