import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { useRef, type ReactNode } from 'react';
import { firstField } from './first-field.ts';
import { IconButton } from './icon-button.tsx';

interface SidePanelProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** Shows the details of one row. The page keeps the open row in its URL. */
export function SidePanel({ open, onClose, title, description, actions, children }: SidePanelProps) {
  const ref = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-30 bg-black/20" />
        <Base.Popup
          ref={ref}
          initialFocus={() => firstField(ref.current)}
          className="fixed inset-y-0 right-0 z-30 flex w-[min(44rem,100vw)] flex-col border-l border-line bg-surface shadow-float"
        >
          <div className="flex items-start gap-2 border-b border-line px-4 py-3">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description className="mt-0.5 text-sm text-soft">{description}</Base.Description>
              )}
            </div>
            {actions}
            <IconButton
              label="Close"
              size="small"
              icon={<X aria-hidden="true" className="size-4" />}
              onClick={onClose}
            />
          </div>
          <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-auto p-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
