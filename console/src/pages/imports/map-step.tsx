import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { configsQuery } from '../../api/configs.ts';
import { refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { isField, readSchema, type SettingValues } from '../../components/schema-values.ts';
import { Select } from '../../components/select.tsx';
import { ChoiceEditor } from './choice-editor.tsx';
import { choiceSetting, choiceWords, readChoice } from './choice-fields.ts';
import { type FoundNames, foundNames } from './found-names.ts';
import { type DetectedFormat, FormatSection } from './format-section.tsx';
import { changeSettings, configPath, formatsQuery, type Plugin, readPreview } from './imports-query.ts';
import { isUnmapped, openMapping } from './mapping-rules.ts';
import { automaticName } from './source-name.ts';
import { PreviewRecords } from './preview-records.tsx';
import { useDraft } from './use-draft.ts';
import { WizardFooter } from './wizard-footer.tsx';

interface MapStepProps {
  readonly projectId: number;
  readonly configId: number;
  readonly plugin: Plugin;
  /** Name of the import. */
  readonly name: string;
  readonly stored: SettingValues;
  readonly onBack: () => void;
  readonly onDone: (isChanged: boolean) => void;
}

const recordsMax = 20;
/** The maximum of the API, so that rare names are found. */
const previewMax = 200;
const debounceMs = 400;

/** Shows records and the resulting events, updated with every change of the mapping. */
export function MapStep(props: MapStepProps) {
  const { projectId, configId, plugin, onBack } = props;
  const choices = formatsOf(plugin);
  const { draft, setDraft, selectFormat, settings, detected, isSelected, preview, save } = useMapping(props, choices);
  const found = useFoundNames(projectId, configId, settings, preview.isSuccess);
  const better = preview.data?.better_format ?? null;
  const needsRules = settings['format'] === 'mapping' && isUnmapped(settings['format_options']);
  return (
    <div className="flex flex-col gap-4">
      <FormatSection
        {...{ projectId, choices, settings, detected, isSelected }}
        records={preview.data?.results.map(({ record }) => record) ?? []}
        onFormat={selectFormat}
        onChange={(change) => setDraft({ ...draft, ...change })}
      />
      {better !== null && (
        <Button className="self-start" onClick={() => selectFormat(better)}>
          Use format {better}
        </Button>
      )}
      <SelectionSection
        projectId={projectId}
        settings={settings}
        found={found}
        onChange={(change) => setDraft({ ...draft, ...change })}
      />
      <ErrorNote error={preview.error} />
      {preview.isPending && settings['format'] !== undefined && <Loading label="Reading the first records" />}
      {preview.data !== undefined && <PreviewRecords key={configId} preview={preview.data} isUnmapped={needsRules} />}
      <ErrorNote error={save.error} />
      <WizardFooter
        onBack={onBack}
        onNext={() => save.mutate()}
        next="Continue to review"
        busy={save.isPending}
        // The selection may exclude all previewed records.
        disabled={needsRules || preview.data === undefined || preview.data.events + preview.data.skipped === 0}
      >
        {needsRules && <p className="grow text-sm text-soft">Set the mapping rules before you continue.</p>}
      </WizardFooter>
    </div>
  );
}

/** Returns the stored settings with unsaved changes, and the preview for both. */
function useMapping({ projectId, configId, plugin, name, stored, onDone }: MapStepProps, choices: readonly string[]) {
  const client = useQueryClient();
  const formats = useQuery(formatsQuery(projectId));
  const [draft, setDraft, forget] = useDraft(`import mapping ${projectId} ${configId}`, []);
  const given: SettingValues = { ...mappingSettings(stored), ...draft };
  const isSelected = given['format'] !== undefined;
  const detected = useDetectedFormat({ projectId, configId, choices, isNeeded: !isSelected });
  const settings: SettingValues = {
    ...initialSettings(detected.formats.length === 1 ? detected.formats[0] : undefined),
    ...given,
  };
  const debounced = useDebounced(settings);
  const hasFormat = choices.length === 0 || debounced['format'] !== undefined;
  const preview = usePreview(projectId, configId, debounced, hasFormat);
  const save = useMutation({
    mutationFn: async () => {
      await changeSettings(projectId, configId, settings);
      const format = formats.data?.results.find(({ slug }) => slug === settings['format'])?.name;
      const better = automaticName(plugin, stored['paths'], format);
      if (name === automaticName(plugin, stored['paths']) && name !== better) {
        await request(configPath(projectId, configId), { method: 'PATCH', body: { name: better } });
      }
    },
    onSuccess: async () => {
      forget();
      await refresh(client, configPath(projectId, configId));
      onDone(JSON.stringify(settings) !== JSON.stringify(mappingSettings(stored)));
    },
  });
  // The selection of events is kept, because it applies to every format.
  const selectFormat = (next: string): void =>
    setDraft({ ...draft, format_options: '', names: '', ...initialSettings(next) });
  return { draft, setDraft, selectFormat, settings, isSelected, detected, preview, save };
}

/** Finds names in more records than the preview shows, before the selection and transformation change them. */
function useFoundNames(projectId: number, configId: number, settings: SettingValues, enabled: boolean): FoundNames {
  const { choose, transform: _, ...whole } = useDebounced(settings);
  // Some sources need the time range.
  const range = choiceSetting({ time: readChoice(choose)?.time });
  const preview = usePreview(projectId, configId, { ...whole, choose: range }, enabled, previewMax);
  return useMemo(() => foundNames(preview.data), [preview.data]);
}

/** Fetches the preview; the previous one stays visible until the next arrives. */
function usePreview(
  projectId: number,
  configId: number,
  settings: SettingValues,
  enabled: boolean,
  records = recordsMax,
) {
  return useQuery({
    enabled,
    queryKey: ['import preview', projectId, configId, settings, records],
    queryFn: ({ signal }) => readPreview(projectId, { config_id: configId, settings, records }, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** Returns the formats that a source supports; none if it has a fixed one. */
function formatsOf({ config_schema: schema }: Plugin): readonly string[] {
  const field = readSchema(schema)
    .filter(isField)
    .find(({ key }) => key === 'format');
  return field?.choices ?? [];
}

function mappingSettings({ format, format_options, names, choose, transform }: SettingValues): SettingValues {
  const given = Object.entries({ format, format_options, names, choose, transform });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== ''));
}

/** Returns the initial settings of a format. A mapping starts with rules that accept every record, so that the preview has rows. */
function initialSettings(format: string | undefined): SettingValues {
  if (format === undefined) return {};
  return format === 'mapping' ? { format, format_options: { mapping: JSON.stringify(openMapping) } } : { format };
}

/** Debounces settings while the user types. */
function useDebounced(value: SettingValues): SettingValues {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), debounceMs);
    return () => clearTimeout(timer);
  }, [text]);
  return JSON.parse(settled) as SettingValues;
}

interface SelectionSectionProps {
  readonly projectId: number;
  readonly settings: SettingValues;
  readonly found: FoundNames;
  readonly onChange: (change: SettingValues) => void;
}

/** Edits which events are imported and how they are changed; shows a summary while collapsed. */
function SelectionSection({ projectId, settings, found, onChange }: SelectionSectionProps) {
  const transform = String(settings['transform'] ?? '');
  const summary = [
    ...choiceWords(readChoice(settings['choose']) ?? {}),
    ...(transform === '' ? [] : [`transformation ${transform}`]),
  ];
  return (
    <details className="rounded-lg border border-line bg-surface">
      <summary className="cursor-pointer px-4 py-2.5 text-sm font-semibold">
        Selection and changes{' '}
        <span className="font-normal text-soft">{summary.length === 0 ? 'all, unchanged' : summary.join(' · ')}</span>
      </summary>
      <div className="flex flex-col gap-4 border-t border-line p-4">
        <ChoiceEditor setting={settings['choose']} found={found} onChange={(choose) => onChange({ choose })} />
        <TransformSelect projectId={projectId} value={transform} onChange={(next) => onChange({ transform: next })} />
      </div>
    </details>
  );
}

interface TransformSelectProps {
  readonly projectId: number;
  /** Value of the setting `transform`: the id of a config, or empty. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Selects a transformation that runs on each event before the check, for changes that rules cannot express. */
function TransformSelect({ projectId, value, onChange }: TransformSelectProps) {
  const chain = useQuery(configsQuery(projectId, 'transformation'));
  const configs = chain.data?.results ?? [];
  const choices = [
    { value: '', label: 'None' },
    ...configs.map(({ id, name, enabled }) => ({
      value: String(id),
      label: `${name.slice(0, 60)} (${id})${enabled ? ', enabled' : ''}`,
    })),
  ];
  const listed = choices.some((each) => each.value === value) ? choices : [...choices, { value, label: value }];
  const chosen = configs.find(({ id }) => String(id) === value);
  return (
    <Select
      label="Transform in code"
      value={value}
      choices={listed}
      onChange={onChange}
      error={
        chosen?.enabled === true
          ? 'This transformation is enabled, so it would run twice on imported events. Disable it or select another.'
          : undefined
      }
      hint={
        <>
          Runs on each event before the check, which compares its output. It need not be enabled.{' '}
          <Link
            to="/projects/$projectId/transformations"
            params={{ projectId: String(projectId) }}
            search={{ add: 'code' }}
            className="underline"
          >
            Write a transformation
          </Link>
        </>
      }
    />
  );
}

interface DetectionOptions {
  readonly projectId: number;
  readonly configId: number;
  /** Formats that the source supports. */
  readonly choices: readonly string[];
  /** Whether no format is selected yet. */
  readonly isNeeded: boolean;
}

const recordsProbed = 20;

/**
 * Detects the format of the first records: several if the records do not show which of them is right, custom mapping rules if no built-in
 * format can read them. Returns none while unknown and if not needed, and that of a source with a fixed one.
 */
function useDetectedFormat({ projectId, configId, choices, isNeeded }: DetectionOptions): DetectedFormat {
  const first = choices.slice(0, 1);
  const isOpen = isNeeded && choices.length > 1;
  const probe = useQuery({
    queryKey: ['import format', projectId, configId],
    queryFn: ({ signal }) =>
      readPreview(projectId, { config_id: configId, settings: { format: first[0] }, records: recordsProbed }, signal),
    enabled: isOpen,
    retry: false,
  });
  if (!isOpen) return { formats: isNeeded ? first : [], isPending: false };
  // If the source fails, the preview shows the error.
  if (probe.data === undefined) return { formats: probe.isPending ? [] : first, isPending: probe.isPending };
  const fitting = probe.data.fitting_formats.filter((slug) => choices.includes(slug));
  const fallback = choices.includes('mapping') ? ['mapping'] : first;
  return { formats: fitting.length > 0 ? fitting : fallback, isPending: false };
}
