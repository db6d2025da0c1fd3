import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

interface FactsProps {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}

/** A list of names and values. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl className="grid grid-cols-1 items-baseline gap-x-6 gap-y-1 text-sm sm:grid-cols-[max-content_1fr] sm:gap-y-2">
      {facts.map(([name, value], index) => (
        <div key={name} className="contents">
          <dt className={classNames('text-soft', index > 0 && 'max-sm:pt-2')}>{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
