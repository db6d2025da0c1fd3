import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Input } from '../../components/input.tsx';
import { Loading } from '../../components/loading.tsx';
import { plainText } from '../../components/plain-text.ts';
import type { SettingValues } from '../../components/schema-values.ts';
import { Section } from '../../components/section.tsx';
import { BareSelect, Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { optionsOf } from './format-options.ts';
import { MappingRulesForm } from './mapping-rules-form.tsx';
import { columnsOf } from './mapping-rules.ts';
import { type Format, formatQuery, type Formats, formatsQuery } from './imports-query.ts';

export interface DetectedFormat {
  /** Several if the records do not show which of them is right. */
  readonly formats: readonly string[];
  readonly isPending: boolean;
}

interface FormatSectionProps {
  readonly projectId: number;
  /** Formats that the source supports; empty if it has a fixed one. */
  readonly choices: readonly string[];
  readonly settings: SettingValues;
  readonly detected: DetectedFormat;
  /** Whether the user selected the format. */
  readonly isSelected: boolean;
  readonly records: readonly unknown[];
  readonly onFormat: (format: string) => void;
  readonly onChange: (change: SettingValues) => void;
}

/** Selects the format of the records and their mapping to events. */
export function FormatSection(props: FormatSectionProps) {
  const { projectId, choices, settings, detected, isSelected, records, onFormat, onChange } = props;
  const formats = useQuery(formatsQuery(projectId));
  const format = String(settings['format'] ?? '');
  const offered = formatChoices(choices, formats.data);
  const fitting = offered.filter(({ value }) => detected.formats.includes(value)).map(({ label }) => label);
  return (
    <Section title="Format and mapping">
      <div className="flex flex-col gap-4">
        {detected.isPending && <Loading label="Detecting the format" />}
        {choices.length > 0 && !detected.isPending && (
          <Select
            label="Format"
            value={format}
            choices={format === '' ? [{ value: '', label: 'Select the format' }, ...offered] : offered}
            hint={formatHint(isSelected, fitting)}
            onChange={onFormat}
          />
        )}
        {format === 'mapping' ? (
          <MappingRulesForm
            columns={columnsOf(records)}
            options={settings['format_options']}
            onChange={(mapping) => onChange({ format, format_options: { mapping: JSON.stringify(mapping) } })}
          />
        ) : (
          format !== '' && (
            <FormatSettings projectId={projectId} format={format} settings={settings} onChange={onChange} />
          )
        )}
      </div>
    </Section>
  );
}

function formatHint(isSelected: boolean, fitting: readonly string[]): string {
  if (isSelected) return 'The format of the records. Use your own mapping rules for any other.';
  if (fitting.length < 2) return 'Detected from the first records. You can select another.';
  return `The first records fit ${fitting.join(' and ')} alike. Select the tool that wrote them.`;
}

function formatChoices(slugs: readonly string[], formats: Formats | undefined) {
  return slugs.map((slug) => {
    const name = formats?.results.find((each) => each.slug === slug)?.name ?? slug;
    return { value: slug, label: name.toLowerCase() === slug ? name : `${name} (${slug})` };
  });
}

interface FormatSettingsProps {
  readonly projectId: number;
  readonly format: string;
  readonly settings: SettingValues;
  readonly onChange: (change: SettingValues) => void;
}

/** The options of a built-in format, and its event and property names. */
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
      {found !== undefined && <p className="text-sm text-soft">{plain(found.source)}</p>}
      {found !== undefined && found.options.length > 0 && (
        <details>
          <summary className="cursor-pointer text-sm font-semibold">
            Options <span className="font-normal text-soft">{optionWords(found, options)}</span>
          </summary>
          <div className="grid gap-4 pt-3 sm:grid-cols-2">
            {found.options.map(({ key, label, description, default: standard, choices }) =>
              choices === null ? (
                <TextInput
                  key={key}
                  label={label}
                  hint={plain(description)}
                  placeholder={standard ?? ''}
                  value={options[key] ?? ''}
                  onChange={(value) => set(key, value)}
                />
              ) : (
                <Select
                  key={key}
                  label={label}
                  hint={plain(description)}
                  value={options[key] ?? standard ?? ''}
                  choices={choices.map((value) => ({ value, label: value }))}
                  onChange={(value) => set(key, value)}
                />
              ),
            )}
          </div>
        </details>
      )}
      {names !== undefined && (
        <details>
          <summary className="cursor-pointer text-sm font-semibold">Event and property names</summary>
          <div className="pt-3">
            <NamesEditor names={names} onChange={(next) => onChange({ names: next })} />
          </div>
        </details>
      )}
    </>
  );
}

/** The options that are set, for the summary while they are collapsed. */
function optionWords({ options }: Formats['results'][number], given: Readonly<Record<string, string>>): string {
  const set = options.filter(({ key }) => (given[key] ?? '') !== '');
  if (set.length === 0) return options.map(({ label }) => label.toLowerCase()).join(', ');
  return set.map(({ key, label }) => plainText(`${label.toLowerCase()}: ${given[key] ?? ''}`)).join(' · ');
}

function namesOf(value: unknown): Names | undefined {
  const parsed = optionsOf(value);
  return Object.keys(parsed).length === 0 ? undefined : (parsed as unknown as Names);
}

/** Removes Markdown code marks. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}

type Names = Format['names'];
type Part = keyof Names;

const parts = [
  { value: 'events', label: 'Events' },
  { value: 'properties', label: 'Properties' },
  { value: 'person_properties', label: 'Person properties' },
] as const satisfies readonly { readonly value: Part; readonly label: string }[];

interface NamesEditorProps {
  readonly names: Names;
  readonly onChange: (names: Names) => void;
}

/** Edits the names of events and properties; an empty name skips one. */
function NamesEditor({ names, onChange }: NamesEditorProps) {
  const [part, setPart] = useState<Part>('events');
  const [added, setAdded] = useState('');
  const entries = Object.entries(names[part]);
  const set = (from: string, to: string | null): void => onChange({ ...names, [part]: { ...names[part], [from]: to } });
  return (
    <div className="flex flex-col gap-2">
      <BareSelect aria-label="Type of name" value={part} choices={parts} onChange={setPart} />
      <ul className="flex max-h-80 flex-col gap-1.5 overflow-auto p-1">
        {entries.map(([from, to]) => (
          <li key={from} className="grid grid-cols-2 items-center gap-2 text-sm">
            <code className="wrap-anywhere">{from}</code>
            <Input
              aria-label={`New name of ${plainText(from)}`}
              placeholder="skipped"
              value={to ?? ''}
              onChange={({ target }) => set(from, target.value === '' ? null : target.value)}
            />
          </li>
        ))}
        {entries.length === 0 && <li className="text-sm text-soft">No renamed entries.</li>}
      </ul>
      <form
        className="flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (added !== '') set(added, added);
          setAdded('');
        }}
      >
        <Input
          aria-label="Source name"
          placeholder="Source name"
          value={added}
          onChange={({ target }) => setAdded(target.value)}
        />
        <Button type="submit" icon={<Plus aria-hidden="true" className="size-4" />}>
          Add
        </Button>
      </form>
    </div>
  );
}
