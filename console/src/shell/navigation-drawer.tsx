import { Dialog as Base } from '@base-ui/react/dialog';
import { Menu as MenuIcon, X } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from '../components/icon-button.tsx';
import { Navigation } from './navigation.tsx';
import { useProject } from './project-context.tsx';

/** The navigation on narrow screens. */
export function NavigationDrawer() {
  const { id } = useProject();
  const [open, setOpen] = useState(false);
  return (
    <Base.Root open={open} onOpenChange={setOpen}>
      <IconButton
        label="Open the navigation"
        className="md:hidden"
        icon={<MenuIcon aria-hidden="true" className="size-4" />}
        onClick={() => setOpen(true)}
      />
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Base.Popup className="fixed inset-y-0 left-0 z-40 flex w-64 max-w-[85vw] flex-col border-r border-line bg-surface shadow-float">
          <div className="flex h-12 items-center justify-between border-b border-line px-3">
            <Base.Title className="font-semibold">Millrace</Base.Title>
            <IconButton
              label="Close"
              icon={<X aria-hidden="true" className="size-4" />}
              onClick={() => setOpen(false)}
            />
          </div>
          <nav aria-label="Pages" className="min-h-0 overflow-y-auto">
            <Navigation projectId={id} narrow={false} onNavigate={() => setOpen(false)} />
          </nav>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
