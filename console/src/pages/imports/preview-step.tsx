import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { TextInput } from '../../components/text-input.tsx';
import type { SettingValues } from '../../components/schema-values.ts';
import { MappingEditor } from './mapping-editor.tsx';
import { columnsOf, emptyRows, guessRows, isComplete, mappingOf, openMapping, rowsOfMapping } from './mapping-rules.ts';
import { NamesEditor, type Names } from './names-editor.tsx';
import { configPath } from './imports-query.ts';
import { PreviewRecords } from './preview-records.tsx';
import { useDraft } from './use-draft.ts';
import { WizardFooter } from './wizard-footer.tsx';
import { changeSettings, formatQuery, formatsQuery, readPreview } from './wizard-query.ts';

interface PreviewStepProps {
  readonly projectId: number;
  readonly configId: number;
  /** Formats that the source allows; empty: it has one of its own. */
  readonly choices: readonly string[];
  readonly stored: SettingValues;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

const recordsMax = 20;
const settleMs = 400;

/** Records beside the events that they become, anew with every change of the mapping. */
export function PreviewStep({ projectId, configId, choices, stored, onBack, onDone }: PreviewStepProps) {
  const client = useQueryClient();
  const [draft, setDraft, forget] = useDraft(`import mapping ${projectId} ${configId}`, []);
  const settings: SettingValues = { ...mappingSettings(stored), ...draft };
  const format = String(settings['format'] ?? choices[0] ?? '');
  const used = useSettled(settings['format'] === undefined && format !== '' ? { ...settings, format } : settings);
  const preview = usePreview(projectId, configId, used);
  const save = useMutation({
    mutationFn: () => changeSettings(projectId, configId, format === '' ? settings : { ...settings, format }),
    onSuccess: async () => {
      forget();
      await refresh(client, configPath(projectId, configId));
      onDone();
    },
  });
  const better = preview.data?.better_format ?? null;
  const records = preview.data?.results.map(({ record }) => record) ?? [];
  return (
    <div className="flex flex-col gap-4">
      <Section title="How records become events">
        <div className="flex flex-col gap-4">
          {choices.length > 0 && (
            <Select
              label="Format"
              value={format}
              choices={choices.map((value) => ({ value, label: value }))}
              hint="What the records look like; mapping takes any, by rules of your own."
              onChange={(next) => setDraft({ format: next, format_options: startOptions(next), names: '' })}
            />
          )}
          {format === 'mapping' ? (
            <Rules
              columns={columnsOf(records)}
              options={settings['format_options']}
              onChange={(mapping) =>
                setDraft({ ...draft, format, format_options: { mapping: JSON.stringify(mapping) } })
              }
            />
          ) : (
            format !== '' && (
              <FormatSettings
                projectId={projectId}
                format={format}
                settings={settings}
                onChange={(change) => setDraft({ ...draft, ...change })}
              />
            )
          )}
        </div>
      </Section>
      {better !== null && (
        <Button onClick={() => setDraft({ format: better, format_options: '', names: '' })}>
          Take the format {better}
        </Button>
      )}
      <ErrorNote error={preview.error} />
      {preview.isPending && <Loading label="Reading the first records" />}
      {preview.data !== undefined && <PreviewRecords preview={preview.data} />}
      <ErrorNote error={save.error} />
      <WizardFooter
        onBack={onBack}
        onNext={() => save.mutate()}
        next="Go on to the check"
        busy={save.isPending}
        disabled={preview.data === undefined || preview.data.events === 0}
      />
    </div>
  );
}

/** The first records as events; what was shown stays until the next answer. */
function usePreview(projectId: number, configId: number, settings: SettingValues) {
  return useQuery({
    queryKey: ['import preview', projectId, configId, settings],
    queryFn: ({ signal }) => readPreview(projectId, { config_id: configId, settings, records: recordsMax }, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

function mappingSettings({ format, format_options, names }: SettingValues): SettingValues {
  const given = Object.entries({ format, format_options, names });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== ''));
}

/** A mapping begins with rules that let every record through, so that there is something to look at. */
function startOptions(format: string): unknown {
  return format === 'mapping' ? { mapping: JSON.stringify(openMapping) } : '';
}

/** Typing is over when nothing was typed for a moment. */
function useSettled(value: SettingValues): SettingValues {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return JSON.parse(settled) as SettingValues;
}

interface RulesProps {
  readonly columns: readonly string[];
  readonly options: unknown;
  readonly onChange: (mapping: unknown) => void;
}

function Rules({ columns, options, onChange }: RulesProps) {
  const mapping = optionsOf(options)['mapping'] ?? JSON.stringify(openMapping);
  const isOpen = mapping === JSON.stringify(openMapping);
  const parsed = parsedOrText(mapping);
  const rows = isOpen ? guessRows(columns) : rowsOfMapping(parsed);
  const [text, setText] = useState<string>();
  if (rows === undefined || text !== undefined) {
    return (
      <TextArea
        label="Rules as JSON"
        rows={12}
        className="font-mono text-xs"
        value={text ?? (typeof parsed === 'string' ? parsed : JSON.stringify(parsed, null, 2))}
        onChange={(next) => {
          setText(next);
          const value = parsedOrText(next);
          if (typeof value !== 'string') onChange(value);
        }}
        error={typeof parsedOrText(text ?? '{}') === 'string' ? 'This is not JSON yet.' : undefined}
      />
    );
  }
  return (
    <>
      <MappingEditor rows={rows ?? emptyRows} columns={columns} onChange={(next) => onChange(mappingOf(next))} />
      <div className="flex flex-wrap gap-2">
        {isOpen && (
          <Button kind="primary" disabled={!isComplete(rows)} onClick={() => onChange(mappingOf(rows))}>
            Take these rules
          </Button>
        )}
        <Button kind="quiet" onClick={() => setText(JSON.stringify(mappingOf(rows), null, 2))}>
          Edit as JSON
        </Button>
      </div>
    </>
  );
}

function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Half-typed JSON is shown as it is.
    return text;
  }
}

interface FormatSettingsProps {
  readonly projectId: number;
  readonly format: string;
  readonly settings: SettingValues;
  readonly onChange: (change: SettingValues) => void;
}

function FormatSettings({ projectId, format, settings, onChange }: FormatSettingsProps) {
  const formats = useQuery(formatsQuery(projectId));
  const detail = useQuery(formatQuery(projectId, format));
  const found = formats.data?.results.find(({ slug }) => slug === format);
  const options = optionsOf(settings['format_options']);
  const names = namesOf(settings['names']) ?? detail.data?.names;
  const set = (key: string, value: string): void => {
    const { [key]: _before, ...others } = options;
    onChange({ format_options: value === '' ? others : { ...others, [key]: value } });
  };
  return (
    <>
      {found !== undefined && <p className="text-sm text-soft">{found.source}</p>}
      {found?.options.map(({ key, description, default: standard, choices }) =>
        choices === null ? (
          <TextInput
            key={key}
            label={key}
            hint={description}
            placeholder={standard ?? ''}
            value={options[key] ?? ''}
            onChange={(value) => set(key, value)}
          />
        ) : (
          <Select
            key={key}
            label={key}
            hint={description}
            value={options[key] ?? standard ?? ''}
            choices={choices.map((value) => ({ value, label: value }))}
            onChange={(value) => set(key, value)}
          />
        ),
      )}
      {names !== undefined && (
        <details>
          <summary className="cursor-pointer text-sm font-semibold">Names of events and properties</summary>
          <div className="pt-3">
            <NamesEditor names={names} onChange={(next) => onChange({ names: next })} />
          </div>
        </details>
      )}
    </>
  );
}

function optionsOf(value: unknown): Readonly<Record<string, string>> {
  const parsed = typeof value === 'string' && value !== '' ? parsedOrText(value) : value;
  return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, string>>) : {};
}

function namesOf(value: unknown): Names | undefined {
  const parsed = optionsOf(value);
  return Object.keys(parsed).length === 0 ? undefined : (parsed as unknown as Names);
}
