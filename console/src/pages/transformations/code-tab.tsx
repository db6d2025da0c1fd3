import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { languageOf, mainFile, newerSource, withFile } from './plugin-code.ts';
import {
  type Plugin,
  type PluginFiles,
  pluginInfo,
  pluginSourceQuery,
  pluginsPath,
  pluginVersionsQuery,
  runVersion,
  type Transformation,
  transformationsPath,
  updatePlugin,
} from './transformation-queries.ts';

interface CodeTabProps {
  readonly config: Transformation;
  readonly plugin: Plugin;
  /** Edited files, or `undefined` without changes. */
  readonly files: PluginFiles | undefined;
  readonly onFiles: (files: PluginFiles | undefined) => void;
}

/** The code of the step and its versions. Code written in the console can be edited; installed code can be updated. */
export function CodeTab(props: CodeTabProps) {
  const { config, plugin } = props;
  const { id: projectId } = useProject();
  const { version } = pluginInfo(config);
  const source = useQuery(pluginSourceQuery(projectId, config.plugin, version));
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[1fr_22rem]">
      {source.data === undefined ? (
        source.error === null ? (
          <Loading rows={8} label="Loading code" />
        ) : (
          <ErrorState error={source.error} onRetry={() => void source.refetch()} />
        )
      ) : (
        <Files {...props} key={version} stored={source.data.files} />
      )}
      <div className="flex min-w-0 flex-col gap-4">
        {plugin.source_kind !== 'source' && <DownloadVersion plugin={plugin} />}
        <VersionList config={config} current={version} />
      </div>
    </div>
  );
}

function Files({ config, plugin, files, onFiles, stored }: CodeTabProps & { readonly stored: PluginFiles }) {
  const canEdit = useHasRole('editor') && plugin.source_kind === 'source';
  const shown = files ?? stored;
  const paths = Object.keys(shown).toSorted();
  const [path, setPath] = useState(mainFile(paths));
  const [compare, setCompare] = useState(false);
  const save = useSave(config, () => onFiles(undefined));
  const submit = (): void => {
    if (files !== undefined && !save.isPending) save.mutate(files);
  };
  return (
    <Section
      title="Code"
      description={
        canEdit
          ? 'Saving creates a new version, which this step then runs. The Test tab uses unsaved changes.'
          : 'Installed code is read-only.'
      }
    >
      <div className="flex flex-col gap-3">
        {paths.length > 1 && (
          <Select
            label="File"
            value={path}
            choices={paths.map((value) => ({ value, label: value }))}
            onChange={setPath}
          />
        )}
        <CodeEditor
          key={path}
          label={path}
          language={languageOf(path)}
          value={shown[path] ?? ''}
          original={compare && files !== undefined ? (stored[path] ?? '') : undefined}
          onChange={(text) => onFiles(withFile(stored, shown, path, text))}
          readOnly={!canEdit}
          onSubmit={submit}
          height="20rem"
        />
        <ErrorNote error={save.error} />
        {canEdit && (
          <div className="flex flex-wrap gap-2">
            <Button kind="primary" busy={save.isPending} disabled={files === undefined} onClick={submit}>
              Save as new version
            </Button>
            <Button disabled={files === undefined || save.isPending} onClick={() => onFiles(undefined)}>
              Discard changes
            </Button>
            <Button
              kind="quiet"
              disabled={files === undefined}
              aria-pressed={compare}
              onClick={() => setCompare(!compare)}
            >
              {compare ? 'Hide changes' : 'Show changes'}
            </Button>
          </div>
        )}
      </div>
    </Section>
  );
}

function useSave(config: Transformation, onDone: () => void) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: async (files: PluginFiles) => {
      const { version } = await updatePlugin(projectId, config.plugin, { files });
      await runVersion(projectId, config.id, version);
      return version;
    },
    onSuccess: async (version) => {
      await Promise.all([refresh(client, transformationsPath(projectId)), refresh(client, pluginsPath(projectId))]);
      onDone();
      toast.done(`Saved. This step now runs version ${version}.`);
    },
  });
}

/** Downloads a newer version from the source of the plugin. Steps run it once it is selected. */
function DownloadVersion({ plugin }: { readonly plugin: Plugin }) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const canEdit = useHasRole('editor');
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
      toast.done(version === plugin.version ? `Version ${version} is up to date.` : `Version ${version} downloaded.`);
    },
  });
  if (source === undefined || !canEdit) return null;
  return (
    <Section title="Update" description={<UserText text={plugin.source_url ?? ''} charsMax={120} short />}>
      <div className="flex flex-col gap-3">
        {'npm' in source && (
          <TextInput label="Version" placeholder="latest" value={wanted} onChange={setWanted} maxLength={200} />
        )}
        <ErrorNote error={fetched.error} />
        <div>
          <Button busy={fetched.isPending} onClick={() => fetched.mutate()}>
            Download
          </Button>
        </div>
      </div>
    </Section>
  );
}

interface VersionListProps {
  readonly config: Transformation;
  readonly current: string;
}

/** All stored versions, any of which the step can run. */
function VersionList({ config, current }: VersionListProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const canEdit = useHasRole('editor');
  const versions = useQuery(pluginVersionsQuery(projectId, config.plugin));
  const change = useMutation({
    mutationFn: (version: string) => runVersion(projectId, config.id, version),
    onSuccess: async (_config, version) => {
      await refresh(client, transformationsPath(projectId));
      toast.done(`This step now runs version ${version}.`);
    },
  });
  return (
    <Section title="Versions" flush>
      {versions.data === undefined && versions.error === null && <Loading rows={3} label="Loading versions" />}
      <ErrorNote error={versions.error ?? change.error} />
      <ul className="max-h-96 divide-y divide-line overflow-auto">
        {versions.data?.results.map(({ version, created_at, is_latest: isLatest }) => (
          <li key={version} className="flex min-h-12 items-center justify-between gap-2 px-4 py-2 text-sm">
            <span className="min-w-0">
              <UserText text={version} charsMax={60} short /> {isLatest && <Badge tone="neutral">latest</Badge>}
              <span className="block text-xs text-soft">
                <TimeText time={created_at} />
              </span>
            </span>
            {version === current ? (
              <Badge tone="ok">current</Badge>
            ) : (
              canEdit && (
                <Button
                  size="small"
                  aria-label={`Run version ${version}`}
                  busy={change.isPending && change.variables === version}
                  onClick={() => change.mutate(version)}
                >
                  Run this
                </Button>
              )
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
