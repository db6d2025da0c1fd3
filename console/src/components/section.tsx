import { useId, type ReactNode } from 'react';

interface SectionProps {
  readonly title: ReactNode;
  /** Accessible name, if several sections of a page have the same title. */
  readonly label?: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Removes the padding, for tables. */
  readonly flush?: boolean;
}

/** A card with a heading. */
export function Section({ title, label, description, actions, children, flush = false }: SectionProps) {
  const id = useId();
  return (
    <section
      {...(label === undefined ? { 'aria-labelledby': id } : { 'aria-label': label })}
      className="min-w-0 overflow-hidden rounded-lg border border-line bg-surface"
    >
      <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2.5">
        <div className="min-w-0">
          <h2 id={id} className="text-sm font-semibold">
            {title}
          </h2>
          {description !== undefined && <p className="text-xs text-soft">{description}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {/* A table inside has the border of the section, not another one. */}
      <div className={flush ? '*:rounded-none! *:border-0!' : 'p-4'}>{children}</div>
    </section>
  );
}
