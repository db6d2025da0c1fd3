interface LoadingProps {
  /** Height in rows; match the content to avoid layout shift. */
  readonly rows?: number;
  readonly label?: string;
}

const widths = ['w-3/5', 'w-4/5', 'w-2/5', 'w-3/4', 'w-1/2'];

/** Placeholder lines for content that is loading. */
export function Loading({ rows = 5, label = 'Loading' }: LoadingProps) {
  return (
    <div role="status" className="flex flex-col gap-3 p-4">
      <span className="sr-only">{label}…</span>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={`h-4 animate-pulse rounded bg-hover ${widths[row % widths.length]}`} />
      ))}
    </div>
  );
}
