import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import type { AddFormProps } from './add-transformation.tsx';
import { pluginsQuery, type Plugin } from './transformation-queries.ts';
import { plainText } from '../../components/plain-text.ts';

/** Plugins that are built in or installed already. */
export function BuiltInGallery({ onChoose, busy }: AddFormProps) {
  const { id } = useProject();
  const [search, setSearch] = useState('');
  const plugins = useQuery(pluginsQuery(id));
  const wanted = search.trim().toLowerCase();
  const found = plugins.data?.results.filter(({ name, slug, description }) =>
    `${name}\n${slug}\n${description}`.toLowerCase().includes(wanted),
  );
  return (
    <div className="flex flex-col gap-3">
      <TextInput
        label="Search"
        type="search"
        value={search}
        onChange={setSearch}
        placeholder="country, bots, rename…"
      />
      {found === undefined && plugins.error === null && <Loading rows={4} label="Loading plugins" />}
      {found === undefined && plugins.error !== null && (
        <ErrorState error={plugins.error} onRetry={() => void plugins.refetch()} />
      )}
      {found?.length === 0 && (
        <EmptyState title="Nothing fits">Try another word, install a plugin, or write your own code.</EmptyState>
      )}
      <ul className="grid gap-2 sm:grid-cols-2">
        {found?.map((plugin) => (
          <PluginCard key={plugin.id} plugin={plugin} busy={busy} onAdd={() => onChoose({ plugin: plugin.id })} />
        ))}
      </ul>
    </div>
  );
}

interface PluginCardProps {
  readonly plugin: Plugin;
  readonly busy: boolean;
  readonly onAdd: () => void;
}

function PluginCard({ plugin, busy, onAdd }: PluginCardProps) {
  return (
    <li className="flex min-w-0 items-start gap-3 rounded-lg border border-line p-3">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          <UserText text={plugin.name} charsMax={80} short />
          {!plugin.is_built_in && <Badge>installed</Badge>}
        </p>
        <p className="text-xs text-soft">
          <UserText text={plugin.description} charsMax={160} short />
        </p>
      </div>
      <Button size="small" disabled={busy} aria-label={`Add ${plainText(plugin.name)}`} onClick={onAdd}>
        Add
      </Button>
    </li>
  );
}
