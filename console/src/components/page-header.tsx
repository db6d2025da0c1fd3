import { useEffect, type ReactNode } from 'react';
import { plainText } from './plain-text.ts';

interface PageHeaderProps {
  /** Heading of the page and title of the tab. */
  readonly title: string;
  /** Replaces the title in the heading when it is not plain text. */
  readonly heading?: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
}

/** The heading of a page; also sets the title of the tab. */
export function PageHeader({ title, heading, description, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${plainText(title)} · Millrace`;
  }, [title]);
  return (
    <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2 pb-4">
      <div className="min-w-0">
        <h1 className="text-xl font-semibold tracking-tight">{heading ?? title}</h1>
        {description !== undefined && <p className="mt-0.5 max-w-3xl text-soft">{description}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}
