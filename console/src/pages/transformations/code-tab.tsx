import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { FetchNewer } from './fetch-newer.tsx';
import { languageOf, mainFile, withFile } from './plugin-code.ts';
import {
  pluginInfo,
  pluginSourceQuery,
  pluginsPath,
  runVersion,
  transformationsPath,
  updatePlugin,
  type Plugin,
  type PluginFiles,
  type Transformation,
} from './transformation-queries.ts';
import { VersionList } from './version-list.tsx';

interface CodeTabProps {
  readonly config: Transformation;
  readonly plugin: Plugin;
  /** Files as they were edited; undefined: as they are stored. */
  readonly files: PluginFiles | undefined;
  readonly onFiles: (files: PluginFiles | undefined) => void;
}

/** The code that this step runs, and its versions. What was typed here is edited here; what was fetched is fetched anew. */
export function CodeTab(props: CodeTabProps) {
  const { config, plugin } = props;
  const { id: projectId } = useProject();
  const { version } = pluginInfo(config);
  const source = useQuery(pluginSourceQuery(projectId, config.plugin, version));
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[1fr_22rem]">
      {source.data === undefined ? (
        source.error === null ? (
          <Loading rows={8} label="Loading the code" />
        ) : (
          <ErrorState error={source.error} onRetry={() => void source.refetch()} />
        )
      ) : (
        <Files {...props} key={version} stored={source.data.files} />
      )}
      <div className="flex min-w-0 flex-col gap-4">
        {plugin.source_kind !== 'source' && <FetchNewer plugin={plugin} />}
        <VersionList config={config} current={version} />
      </div>
    </div>
  );
}

function Files({ config, plugin, files, onFiles, stored }: CodeTabProps & { readonly stored: PluginFiles }) {
  const mayEdit = useMay('editor') && plugin.source_kind === 'source';
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
        mayEdit
          ? 'Saved as a new version, which this step then runs. Try it first: the test takes the code as it is here.'
          : 'As it was installed; it is only shown.'
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
          readOnly={!mayEdit}
          onSubmit={submit}
          height="20rem"
        />
        <ErrorNote error={save.error} />
        {mayEdit && (
          <div className="flex flex-wrap gap-2">
            <Button kind="primary" busy={save.isPending} disabled={files === undefined} onClick={submit}>
              Save as a new version
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
      toast.done(`Saved as version ${version}, which this step runs now.`);
    },
  });
}
