import { PanelLeftClose, PanelLeftOpen } from 'lucide-react';
import { useState } from 'react';
import { classNames } from '../components/class-names.ts';
import { IconButton } from '../components/icon-button.tsx';
import { Navigation } from './navigation.tsx';
import { useProject } from './project-context.tsx';

const storageKey = 'millrace-sidebar';

/** The navigation on wide screens; it can be made narrow, and stays so. */
export function Sidebar() {
  const { id } = useProject();
  const [narrow, setNarrow] = useState(() => localStorage.getItem(storageKey) === 'narrow');
  const toggle = (): void => {
    localStorage.setItem(storageKey, narrow ? 'wide' : 'narrow');
    setNarrow(!narrow);
  };
  const Icon = narrow ? PanelLeftOpen : PanelLeftClose;
  return (
    <nav
      aria-label="Pages"
      className={classNames(
        'hidden shrink-0 flex-col border-r border-line bg-sunken md:flex',
        narrow ? 'w-12' : 'w-52',
      )}
    >
      <div className="flex h-12 items-center gap-2 border-b border-line px-3">
        <img src="/console/icon.svg" alt="" className="size-6" />
        <span className={classNames('font-semibold tracking-tight', narrow && 'sr-only')}>Millrace</span>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Navigation projectId={id} narrow={narrow} />
      </div>
      <div className="border-t border-line p-2">
        <IconButton
          label={narrow ? 'Widen the navigation' : 'Narrow the navigation'}
          icon={<Icon aria-hidden="true" className="size-4" />}
          onClick={toggle}
        />
      </div>
    </nav>
  );
}
