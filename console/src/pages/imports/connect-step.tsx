import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { counted } from '../../components/format-number.ts';
import { Input } from '../../components/input.tsx';
import { SchemaForm } from '../../components/schema-form.tsx';
import {
  changedSettings,
  isField,
  missingSettings,
  readSchema,
  type SchemaEntry,
  settingErrors,
  type SettingErrors,
  type SettingValues,
} from '../../components/schema-values.ts';
import { Section } from '../../components/section.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { changeSettings, configsPath, createImport, formatsQuery, type Plugin } from './imports-query.ts';
import { automaticName } from './source-name.ts';
import { SourceDateFields } from './source-date-fields.tsx';
import { appsWithDates, datesOf } from './source-dates.ts';
import { sourceGroups, type SourceTile, sourceTiles } from './source-tiles.ts';
import { UploadFiles } from './upload-files.tsx';
import { useDraft } from './use-draft.ts';
import { WizardFooter } from './wizard-footer.tsx';

/** Settings that the next step edits. */
const mappingKeys: ReadonlySet<string> = new Set(['format', 'format_options', 'names', 'choose', 'transform']);
const loadKeys: ReadonlySet<string> = new Set([
  'events_per_second',
  'rejected_max',
  'target_url',
  'target_api_key',
  'target_personal_api_key',
]);
const nameKey = ' name';

interface ConnectStepProps {
  readonly projectId: number;
  readonly plugin: Plugin;
  readonly configId: number | undefined;
  readonly stored: SettingValues;
  /** `undefined` if the source cannot be changed. */
  readonly onChangeSource: (() => void) | undefined;
  readonly onDone: (configId: number) => void;
}

/** Edits the connection to the source, with dates and files. Continuing saves the import. */
export function ConnectStep(props: ConnectStepProps) {
  const { projectId, plugin, configId, stored, onChangeSource } = props;
  const schema = readSchema(plugin.config_schema);
  const secrets = schema.filter(isField).filter(({ secret }) => secret === true);
  const key = `import draft ${projectId} ${configId ?? plugin.slug}`;
  const [draft, setDraft, forget] = useDraft(
    key,
    secrets.map((field) => field.key),
  );
  const [errors, setErrors] = useState<SettingErrors>({});
  const [waiting, setWaiting] = useState(0);
  const { [nameKey]: typedName, ...typed } = draft;
  const values: SettingValues = { ...stored, ...typed };
  const name = typedName ?? automaticName(plugin, values['paths']);
  const connection = ofKeys(schema, (each) => !mappingKeys.has(each) && !loadKeys.has(each));
  const save = useSave(props, { name: String(name), values, forget });
  const next = (): void => {
    const missing = { ...missingSettings(connection, values), ...missingDates(plugin, values) };
    setErrors(missing);
    if (Object.keys(missing).length > 0) return;
    save.mutate(undefined, { onError: (error) => setErrors(settingErrors(error)) });
  };
  const change = (changed: SettingValues): void => {
    setDraft({ ...draft, ...changed });
    setErrors(Object.fromEntries(Object.entries(errors).filter(([field]) => !Object.hasOwn(changed, field))));
  };
  const form = { values, stored, onChange: change, errors };
  const uploads = { projectId, onWaiting: setWaiting };
  return (
    <div className="flex flex-col gap-4">
      <Section
        title={<UserText text={plugin.name} charsMax={100} short />}
        actions={
          onChangeSource !== undefined && (
            <Button size="small" onClick={onChangeSource}>
              Change source
            </Button>
          )
        }
      >
        <div className="flex flex-col gap-4">
          <p className="text-sm text-soft">
            <UserText text={plugin.description.replaceAll('`', '')} charsMax={600} />
          </p>
          {configId === undefined && (
            <TextInput label="Import name" value={String(name)} onChange={(text) => change({ [nameKey]: text })} />
          )}
          {plugin.slug === 'files' && (
            <UploadFiles paths={String(values['paths'] ?? '')} onPaths={(paths) => change({ paths })} {...uploads} />
          )}
          {appsWithDates.has(plugin.slug) && (
            <SourceDateFields slug={plugin.slug} values={values} error={errors['choose']} onChange={change} />
          )}
          <SchemaForm schema={connection} {...form} />
        </div>
      </Section>
      <LoadSettings>
        <SchemaForm schema={ofKeys(schema, (each) => loadKeys.has(each))} {...form} />
      </LoadSettings>
      <ErrorNote error={save.error} />
      <WizardFooter onNext={next} next={nextLabel(waiting)} disabled={waiting > 0} busy={save.isPending} />
    </div>
  );
}

interface Draft {
  readonly name: string;
  readonly values: SettingValues;
  /** Deletes the stored draft. */
  readonly forget: () => void;
}

/** Saves the settings; a new import is created first. */
function useSave({ projectId, plugin, configId, stored, onDone }: ConnectStepProps, { name, values, forget }: Draft) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const id = configId ?? (await createImport(projectId, plugin.id, name)).id;
      await changeSettings(projectId, id, changedSettings(stored, values));
      return id;
    },
    onSuccess: async (id) => {
      forget();
      await refresh(client, configsPath(projectId));
      onDone(id);
    },
  });
}

function missingDates({ slug }: Plugin, values: SettingValues): SettingErrors {
  if (!appsWithDates.has(slug) || datesOf(values).from !== '') return {};
  return { choose: 'Enter the first day: the source does not report when its data begins.' };
}

/** Uploads must finish first: an import with some of its files would look complete. */
function nextLabel(waiting: number): string {
  if (waiting === 0) return 'Continue to mapping';
  return `Waiting for ${counted(waiting, 'file')}`;
}

function LoadSettings({ children }: { readonly children: ReactNode }) {
  return (
    <details className="rounded-lg border border-line bg-surface p-4">
      <summary className="cursor-pointer text-sm font-semibold">Speed, error tolerance and target</summary>
      <div className="pt-4">{children}</div>
    </details>
  );
}

function ofKeys(schema: readonly SchemaEntry[], wanted: (key: string) => boolean): SchemaEntry[] {
  return schema.filter((entry) => isField(entry) && wanted(entry.key));
}

interface SourceTilesProps {
  readonly projectId: number;
  readonly sources: readonly Plugin[];
  readonly onChoose: (slug: string) => void;
}

/** Selects the source of the history. */
export function SourceTiles({ projectId, sources, onChoose }: SourceTilesProps) {
  const formats = useQuery(formatsQuery(projectId));
  const [search, setSearch] = useState('');
  const wanted = search.toLowerCase();
  const apps = sources.filter(({ capabilities }) => capabilities.methods.includes('importEvents'));
  const tiles = sourceTiles(apps, formats.data?.results ?? []).filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );
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
      {tiles.length === 0 && (
        <EmptyState title="No matching sources">Use Files to import an export of any tool.</EmptyState>
      )}
      {sourceGroups.map((group) => (
        <TileGroup key={group} title={group} tiles={tiles.filter((tile) => tile.group === group)} onChoose={onChoose} />
      ))}
    </div>
  );
}

interface TileGroupProps {
  readonly title: string;
  readonly tiles: readonly SourceTile[];
  readonly onChoose: (slug: string) => void;
}

function TileGroup({ title, tiles, onChoose }: TileGroupProps) {
  if (tiles.length === 0) return null;
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">{title}</h2>
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {tiles.map(({ slug, name, description }) => (
          <li key={name}>
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
    </section>
  );
}
