import type { ReactElement } from 'react';
import { classNames } from './class-names.ts';
import { Tooltip } from './tooltip.tsx';
import { Button, type ButtonProps } from './button.tsx';
import { plainText } from './plain-text.ts';

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
  /** What it does: its accessible name and its tooltip. */
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
