import { Tooltip as Base } from '@base-ui/react/tooltip';
import type { ReactElement, ReactNode } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { classNames } from './class-names.ts';
import { plainText } from './plain-text.ts';
import { UserText } from './user-text.tsx';

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
  /** Accessible name and tooltip. */
  readonly label: string;
  readonly icon: ReactElement;
}

export function IconButton({ label, icon, kind = 'quiet', size = 'medium', className, ...props }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <Button
        kind={kind}
        size={size}
        icon={icon}
        aria-label={plainText(label)}
        className={classNames(size === 'small' ? 'w-7' : 'w-8', 'px-0!', className)}
        {...props}
      />
    </Tooltip>
  );
}

interface TooltipProps {
  readonly text: ReactNode;
  /** The trigger element; must accept a ref and props. */
  readonly children: ReactElement<Record<string, unknown>>;
}

/** Shows text on hover and focus. Not for information that is needed to use the page. */
function Tooltip({ text, children }: TooltipProps) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-50">
          <Base.Popup className="max-w-72 rounded-md border border-line bg-surface px-2 py-1 text-xs text-ink shadow-float">
            {typeof text === 'string' ? <UserText text={text} charsMax={200} short /> : text}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
