import type { ReactNode } from 'react';

interface EmptyStateProps {
  readonly title: string;
  /** Explains why it is empty and what to do next. */
  readonly children?: ReactNode;
  readonly icon?: ReactNode;
  readonly action?: ReactNode;
}

export function EmptyState({ title, children, icon, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      {icon !== undefined && <div className="text-faint">{icon}</div>}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="max-w-lg text-soft">{children}</div>}
      {action !== undefined && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}
