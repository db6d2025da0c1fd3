import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ErrorState } from '../../components/error-state.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Input } from '../../components/input.tsx';
import { Loading } from '../../components/loading.tsx';
import { UserText } from '../../components/user-text.tsx';
import { sourcesQuery } from './imports-query.ts';

interface SourceStepProps {
  readonly projectId: number;
  readonly onChoose: (slug: string) => void;
}

/** Where the history is. */
export function SourceStep({ projectId, onChoose }: SourceStepProps) {
  const sources = useQuery(sourcesQuery(projectId));
  const [search, setSearch] = useState('');
  if (sources.data === undefined) {
    return sources.error === null ? (
      <Loading label="Loading sources" />
    ) : (
      <ErrorState error={sources.error} onRetry={() => void sources.refetch()} />
    );
  }
  const wanted = search.toLowerCase();
  const shown = sources.data.results
    .filter(({ capabilities }) => capabilities.methods.includes('importEvents'))
    .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted));
  return (
    <div className="flex flex-col gap-3">
      <Input
        type="search"
        aria-label="Search sources"
        placeholder="Search sources"
        className="sm:max-w-60"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      {shown.length === 0 && (
        <EmptyState title="No source has this name">Files can take the export of any tool.</EmptyState>
      )}
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {shown.map(({ id, slug, name, description }) => (
          <li key={id}>
            <button
              type="button"
              onClick={() => onChoose(slug)}
              className="flex size-full flex-col gap-1 rounded-lg border border-line bg-surface p-4 text-left hover:border-accent hover:bg-hover"
            >
              <span className="font-medium">
                <UserText text={name} charsMax={80} short />
              </span>
              <span className="line-clamp-3 text-sm text-soft">
                <UserText text={description} charsMax={220} short />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
