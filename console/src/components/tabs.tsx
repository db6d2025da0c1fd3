import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';

export interface Tab<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
}

interface TabsProps<Value extends string> {
  readonly tabs: readonly Tab<Value>[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  /** Content of the selected tab. */
  readonly children: ReactNode;
}

/** Switches between views; the page keeps the selected one in its URL. */
export function Tabs<Value extends string>({ tabs, value, onChange, children }: TabsProps<Value>) {
  return (
    <Base.Root value={value} onValueChange={(next: Value) => onChange(next)}>
      <Base.List className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px border-b-2 border-transparent px-3 py-2 text-sm font-medium whitespace-nowrap text-soft hover:text-ink focus-visible:-outline-offset-2 aria-selected:border-accent aria-selected:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      <Base.Panel value={value} className="pt-4">
        {children}
      </Base.Panel>
    </Base.Root>
  );
}
