import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { useRef, type ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { firstField } from './first-field.ts';
import { IconButton } from './icon-button.tsx';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  /** Buttons, the primary one last. */
  readonly footer?: ReactNode;
  readonly size?: 'small' | 'medium' | 'large';
}

const widths = { small: 'max-w-md', medium: 'max-w-xl', large: 'max-w-4xl' } as const;

export function Dialog({ open, onClose, title, description, children, footer, size = 'medium' }: DialogProps) {
  const ref = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Base.Popup
          ref={ref}
          initialFocus={() => firstField(ref.current)}

          className={classNames(
            'fixed top-1/2 left-1/2 z-40 flex max-h-[90dvh] w-[calc(100vw-1.5rem)] -translate-x-1/2 -translate-y-1/2 flex-col',
            'rounded-xl border border-line bg-surface shadow-float',
            widths[size],
          )}
        >
          <div className="flex items-start gap-2 border-b border-line px-4 py-3">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description className="mt-0.5 text-sm text-soft">{description}</Base.Description>
              )}
            </div>
            <IconButton
              label="Close"
              size="small"
              icon={<X aria-hidden="true" className="size-4" />}
              onClick={onClose}
            />
          </div>
          {children !== undefined && (
            <div tabIndex={0} className="min-h-0 overflow-auto px-4 py-3">
              {children}
            </div>
          )}
          {footer !== undefined && (
            <div className="flex flex-wrap justify-end gap-2 border-t border-line px-4 py-3">{footer}</div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
