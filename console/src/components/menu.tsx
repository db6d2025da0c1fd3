import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';
import { classNames } from './class-names.ts';

export interface MenuEntry {
  readonly label: ReactNode;
  readonly onSelect: () => void;
  readonly icon?: ReactNode;
  readonly danger?: boolean;
  readonly disabled?: boolean;
}

interface MenuProps {
  /** The button that opens it. */
  readonly trigger: ReactElement<Record<string, unknown>>;
  /** Groups of entries, with a line between groups. */
  readonly groups: readonly (readonly MenuEntry[])[];
  readonly align?: 'start' | 'end';
  /** Shown above the entries; not selectable. */
  readonly heading?: ReactNode;
}

export function Menu({ trigger, groups, align = 'end', heading }: MenuProps) {
  const filled = groups.filter((group) => group.length > 0);
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className="z-50">
          <Base.Popup className="max-h-[70dvh] max-w-80 min-w-44 overflow-auto rounded-lg border border-line bg-surface p-1 shadow-float">
            {heading !== undefined && <div className="border-b border-line px-2 py-1.5">{heading}</div>}
            {filled.map((group, index) => (
              <div key={index} className={classNames(index > 0 && 'mt-1 border-t border-line pt-1')}>
                {group.map((entry, entryIndex) => (
                  <MenuRow key={entryIndex} {...entry} />
                ))}
              </div>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function MenuRow({ label, onSelect, icon, danger, disabled }: MenuEntry) {
  return (
    <Base.Item
      onClick={onSelect}
      disabled={disabled}
      className={classNames(
        'flex items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-disabled:opacity-60 data-highlighted:bg-hover',
        danger === true && 'text-danger',
      )}
    >
      {icon}
      {label}
    </Base.Item>
  );
}
