import { counted } from '../../components/format-number.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { ErrorNote } from '../../components/error-note.tsx';
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
import { changeSettings, configsPath, createImport, type Plugin } from './imports-query.ts';
import { automaticName } from './source-name.ts';
import { SourceDateFields } from './source-date-fields.tsx';
import { appsWithDates, datesOf } from './source-dates.ts';
import { UploadFiles } from './upload-files.tsx';
import { useDraft } from './use-draft.ts';
import { WizardFooter } from './wizard-footer.tsx';

/** Settings that the preview step edits. */
const mappingKeys: ReadonlySet<string> = new Set(['format', 'format_options', 'names', 'choose', 'transform']);
const loadKeys: ReadonlySet<string> = new Set([
  'events_per_second',
  'rejected_max',
  'target_url',
  'target_api_key',
  'target_personal_api_key',
]);
const nameKey = ' name';

interface ConnectionStepProps {
  readonly projectId: number;
  readonly plugin: Plugin;
  readonly configId: number | undefined;
  readonly stored: SettingValues;
  readonly onBack: () => void;
  readonly onDone: (configId: number) => void;
}

/** Edits the connection to the source. Continuing saves the import. */
export function ConnectionStep(props: ConnectionStepProps) {
  const { projectId, plugin, configId, stored, onBack, onDone } = props;
  const client = useQueryClient();
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
  const save = useMutation({
    mutationFn: async () => {
      const id = configId ?? (await createImport(projectId, plugin.id, String(name))).id;
      await changeSettings(projectId, id, changedSettings(stored, values));
      return id;
    },
    onSuccess: async (id) => {
      forget();
      await refresh(client, configsPath(projectId));
      onDone(id);
    },
    onError: (error) => setErrors(settingErrors(error)),
  });
  const next = (): void => {
    const missing = { ...missingSettings(connection, values), ...missingDates(plugin, values) };
    setErrors(missing);
    if (Object.keys(missing).length === 0) save.mutate();
  };
  const change = (changed: SettingValues): void => {
    setDraft({ ...draft, ...changed });
    setErrors(Object.fromEntries(Object.entries(errors).filter(([field]) => !Object.hasOwn(changed, field))));
  };
  const form = { values, stored, onChange: change, errors };
  const uploads = { projectId, onWaiting: setWaiting };
  return (
    <div className="flex flex-col gap-4">
      <Section title={<UserText text={plugin.name} charsMax={100} short />}>
        <div className="flex flex-col gap-4">
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
      <WizardFooter
        onBack={onBack}
        onNext={next}
        next={nextLabel(waiting)}
        disabled={waiting > 0}
        busy={save.isPending}
      />
    </div>
  );
}

function missingDates({ slug }: Plugin, values: SettingValues): SettingErrors {
  if (!appsWithDates.has(slug) || datesOf(values).from !== '') return {};
  return { choose: 'Enter the first day: the source does not report when its data begins.' };
}

/** Uploads must finish first: an import with some of its files would look complete. */
function nextLabel(waiting: number): string {
  if (waiting === 0) return 'Continue to preview';
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
