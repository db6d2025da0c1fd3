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

interface FormatSectionProps {
  readonly projectId: number;
  /** Formats that the source allows; empty: it has one of its own. */
  readonly choices: readonly string[];
  readonly settings: SettingValues;
  readonly isRecognising: boolean;
  /** Somebody chose the format. */
  readonly isStated: boolean;
  readonly records: readonly unknown[];
  readonly onFormat: (format: string) => void;
  readonly onChange: (change: SettingValues) => void;
}

/** What the records look like, and how they become events. */
export function FormatSection(props: FormatSectionProps) {
  const { projectId, choices, settings, isRecognising, isStated, records, onFormat, onChange } = props;
  const formats = useQuery(formatsQuery(projectId));
  const format = String(settings['format'] ?? '');
  return (
    <Section title="How records become events">
      <div className="flex flex-col gap-4">
        {isRecognising && <Loading label="Looking at the first records" />}
        {choices.length > 0 && !isRecognising && (
          <Select
            label="Format"
            value={format}
            choices={formatChoices(choices, formats.data)}
            hint={
              isStated
                ? 'What the records look like; rules of your own take any.'
                : 'Recognised by the first records; any other can be chosen.'
            }
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

/** The options of a ready-made format, and its names of events and properties. */
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
      {found?.options.map(({ key, description, default: standard, choices }) =>
        choices === null ? (
          <TextInput
            key={key}
            label={key}
            hint={plain(description)}
            placeholder={standard ?? ''}
            value={options[key] ?? ''}
            onChange={(value) => set(key, value)}
          />
        ) : (
          <Select
            key={key}
            label={key}
            hint={plain(description)}
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

function namesOf(value: unknown): Names | undefined {
  const parsed = optionsOf(value);
  return Object.keys(parsed).length === 0 ? undefined : (parsed as unknown as Names);
}

/** Without the marks that documentation sets around code. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}

type Names = Format['names'];
type Part = keyof Names;

const parts = [
  { value: 'events', label: 'Events' },
  { value: 'properties', label: 'Properties' },
  { value: 'person_properties', label: 'Properties of persons' },
] as const satisfies readonly { readonly value: Part; readonly label: string }[];

interface NamesEditorProps {
  readonly names: Names;
  readonly onChange: (names: Names) => void;
}

/** How events and properties of the source are called here; an empty name leaves one out. */
function NamesEditor({ names, onChange }: NamesEditorProps) {
  const [part, setPart] = useState<Part>('events');
  const [added, setAdded] = useState('');
  const entries = Object.entries(names[part]);
  const set = (from: string, to: string | null): void => onChange({ ...names, [part]: { ...names[part], [from]: to } });
  return (
    <div className="flex flex-col gap-2">
      <BareSelect aria-label="Names of" value={part} choices={parts} onChange={setPart} />
      <ul className="flex max-h-80 flex-col gap-1.5 overflow-auto p-1">
        {entries.map(([from, to]) => (
          <li key={from} className="grid grid-cols-2 items-center gap-2 text-sm">
            <code className="wrap-anywhere">{from}</code>
            <Input
              aria-label={`New name of ${plainText(from)}`}
              placeholder="left out"
              value={to ?? ''}
              onChange={({ target }) => set(from, target.value === '' ? null : target.value)}
            />
          </li>
        ))}
        {entries.length === 0 && <li className="text-sm text-soft">No name is changed.</li>}
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
          aria-label="Name at the source"
          placeholder="Name at the source"
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
