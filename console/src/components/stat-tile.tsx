import type { ReactNode } from 'react';

interface StatTileProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

/** One key figure with its label. */
export function StatTile({ label, value, note }: StatTileProps) {
  return (
    <div className="min-w-0 rounded-lg border border-line bg-surface px-4 py-3">
      <dt className="text-xs text-soft">{label}</dt>
      <dd className="mt-1 text-xl font-semibold tabular-nums">{value}</dd>
      <dd className="mt-0.5 min-h-4 text-xs text-soft">{note}</dd>
    </div>
  );
}
