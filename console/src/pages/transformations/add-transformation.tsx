import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { PluginInstall } from '../../../../src/wire/contract/plugins.ts';
import { refresh } from '../../api/queries.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Field } from '../../components/field.tsx';
import { FileInput } from '../../components/file-input.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { plainText } from '../../components/plain-text.ts';
import { Tabs } from '../../components/tabs.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import {
  create,
  install,
  type Plugin,
  pluginsPath,
  pluginsQuery,
  transformationsPath,
} from './transformation-queries.ts';
import type { AddWay } from './transformations-search.ts';

const ways = [
  { value: 'built-in', label: 'Available' },
  { value: 'npm', label: 'npm or repository' },
  { value: 'archive', label: 'Archive' },
  { value: 'code', label: 'Your code' },
] as const satisfies readonly { value: AddWay; label: string }[];

interface AddTransformationProps {
  readonly way: AddWay;
  readonly onWay: (way: AddWay) => void;
  readonly onClose: () => void;
}

/** An installed plugin, or the source of one to install. */
type Selected = { readonly plugin: number } | { readonly source: PluginInstall | FormData };

/** Adds a disabled transformation at the end of the chain and opens its page. */
export function AddTransformation({ way, onWay, onClose }: AddTransformationProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const navigate = useNavigate();
  const add = useMutation({
    mutationFn: async (selected: Selected) => {
      const plugin = 'plugin' in selected ? selected.plugin : (await install(projectId, selected.source)).id;
      return create(projectId, plugin, '');
    },
    onSuccess: async ({ id }) => {
      await Promise.all([refresh(client, transformationsPath(projectId)), refresh(client, pluginsPath(projectId))]);
      await navigate({
        to: '/projects/$projectId/transformations/$configId',
        params: { projectId: String(projectId), configId: String(id) },
      });
    },
  });
  const form = { onSelect: (selected: Selected) => add.mutate(selected), busy: add.isPending };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a transformation"
      description="It is added at the end of the chain, disabled, so that you can configure and test it first."
      size="large"
    >
      <div className="flex flex-col gap-3">
        <ErrorNote error={add.error} />
        <Tabs
          tabs={ways}
          value={way}
          onChange={(next) => {
            add.reset();
            onWay(next);
          }}
        >
          {way === 'built-in' && <BuiltInGallery {...form} />}
          {way === 'npm' && <PackageForm {...form} />}
          {way === 'archive' && <ArchiveForm {...form} />}
          {way === 'code' && <CodeForm {...form} />}
        </Tabs>
      </div>
    </Dialog>
  );
}

interface AddFormProps {
  readonly onSelect: (selected: Selected) => void;
  readonly busy: boolean;
}

/** Built-in and installed plugins. */
function BuiltInGallery({ onSelect, busy }: AddFormProps) {
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
        <EmptyState title="No matching plugins">
          Try another search, install a plugin, or write your own code.
        </EmptyState>
      )}
      <ul className="grid gap-2 sm:grid-cols-2">
        {found?.map((plugin) => (
          <PluginCard key={plugin.id} plugin={plugin} busy={busy} onAdd={() => onSelect({ plugin: plugin.id })} />
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

const address = /^https?:\/\//i;

/** Installs from the npm registry, or a repository on GitHub or GitLab. */
function PackageForm({ onSelect, busy }: AddFormProps) {
  const [name, setName] = useState('');
  const wanted = name.trim();
  const submit = (): void => {
    if (wanted !== '') onSelect({ source: address.test(wanted) ? { url: wanted } : { npm: wanted } });
  };
  return (
    <form
      className="flex flex-col items-start gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="w-full">
        <TextInput
          label="Package or URL"
          value={name}
          onChange={setName}
          placeholder="posthog-currency-normalization-plugin"
          hint="NAME or NAME@VERSION of an npm package, or the URL of a GitHub or GitLab repository, a .zip or a .tar.gz."
          required
        />
      </div>
      <Button kind="primary" type="submit" busy={busy} disabled={wanted === ''}>
        Install and add
      </Button>
    </form>
  );
}

/** Installs a .zip or .tgz from this machine. */
function ArchiveForm({ onSelect, busy }: AddFormProps) {
  const [file, setFile] = useState<File>();
  const submit = (): void => {
    if (file === undefined) return;
    const source = new FormData();
    source.append('archive', file, file.name);
    onSelect({ source });
  };
  return (
    <div className="flex flex-col items-start gap-3">
      <div className="w-full">
        <Field label="Archive" hint="A .zip or .tgz that contains plugin.json and index.ts or index.js.">
          {(control) => (
            <FileInput
              control={control}
              name="archive"
              accept=".zip,.tgz,.tar.gz"
              stored={undefined}
              value={file}
              onChange={(next) => setFile(next instanceof File ? next : undefined)}
            />
          )}
        </Field>
      </div>
      <Button kind="primary" busy={busy} disabled={file === undefined} onClick={submit}>
        Upload and add
      </Button>
    </div>
  );
}

/** Creates a plugin from code, starting with a working template. */
function CodeForm({ onSelect, busy }: AddFormProps) {
  const [name, setName] = useState('');
  const [code, setCode] = useState(starterCode);
  const [schema, setSchema] = useState(starterSchema);
  const [invalid, setInvalid] = useState('');
  const submit = (): void => {
    if (name.trim() === '') return;
    try {
      setInvalid('');
      onSelect({ source: { files: pluginFiles(name.trim(), code, schema) } });
    } catch {
      setInvalid('Expected the settings to be a JSON list of fields.');
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <TextInput label="Name" value={name} onChange={setName} maxLength={200} placeholder="Plan tier" required />
      <div className="flex flex-col gap-1">
        <p className="text-sm font-medium">Code</p>
        <CodeEditor
          label="Code"
          language="javascript"
          value={code}
          onChange={setCode}
          onSubmit={submit}
          height="15rem"
        />
        <p className="text-xs text-soft">JavaScript or TypeScript, run in a sandbox with time and memory limits.</p>
      </div>
      <div className="flex flex-col gap-1">
        <p className="text-sm font-medium">Settings</p>
        <CodeEditor
          label="Settings"
          language="json"
          value={schema}
          onChange={setSchema}
          onSubmit={submit}
          height="9rem"
        />
      </div>
      {invalid !== '' && <Notice tone="danger">{invalid}</Notice>}
      <div>
        <Button kind="primary" busy={busy} disabled={name.trim() === ''} onClick={submit}>
          Create and add
        </Button>
      </div>
    </div>
  );
}

/** Template for new code. */
const starterCode = `// Called with every event. Return the event to keep it, null to drop it.
function processEvent(event, { config }) {
  if (event.properties.plan === 'test') return null;
  event.properties.greeting = config.greeting;
  return event;
}
`;

const starterSettings = [
  {
    key: 'greeting',
    name: 'Greeting',
    type: 'string',
    default: 'hello',
    hint: 'Written into every event.',
  },
];

/** Settings of the template, in the format of `plugin.json`. */
const starterSchema = `${JSON.stringify(starterSettings, null, 2)}\n`;

/** Returns the files of a single-file plugin. @throws SyntaxError when the settings are not JSON */
function pluginFiles(name: string, code: string, schema: string): Readonly<Record<string, string>> {
  const config: unknown = schema.trim() === '' ? [] : JSON.parse(schema);
  return { 'plugin.json': JSON.stringify({ name, config }, null, 2), 'index.ts': code };
}
