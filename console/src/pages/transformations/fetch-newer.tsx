import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { newerSource } from './plugin-code.ts';
import { pluginsPath, updatePlugin, type Plugin } from './transformation-queries.ts';

/** Newer code from where the plugin came from. It is kept as a version; steps run it when they are told to. */
export function FetchNewer({ plugin }: { readonly plugin: Plugin }) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const mayEdit = useMay('editor');
  const [wanted, setWanted] = useState('');
  const source = newerSource(plugin);
  const fetched = useMutation({
    mutationFn: () => {
      const version = wanted.trim() === '' ? 'latest' : wanted.trim();
      const body = source !== undefined && 'npm' in source ? { ...source, version } : (source ?? {});
      return updatePlugin(projectId, plugin.id, body);
    },
    onSuccess: async ({ version }) => {
      await refresh(client, pluginsPath(projectId));
      toast.done(version === plugin.version ? `${version} is the newest.` : `Version ${version} is here.`);
    },
  });
  if (source === undefined || !mayEdit) return null;
  return (
    <Section title="Newer code" description={<UserText text={plugin.source_url ?? ''} charsMax={120} short />}>
      <div className="flex flex-col gap-3">
        {'npm' in source && (
          <TextInput label="Version" placeholder="latest" value={wanted} onChange={setWanted} maxLength={200} />
        )}
        <ErrorNote error={fetched.error} />
        <div>
          <Button busy={fetched.isPending} onClick={() => fetched.mutate()}>
            Fetch it
          </Button>
        </div>
      </div>
    </Section>
  );
}
