import { useQuery } from '@tanstack/react-query';
import { Select } from '../../components/select.tsx';
import type { SettingValues } from '../../components/schema-values.ts';
import { TextInput } from '../../components/text-input.tsx';
import { optionsOf } from './format-options.ts';
import { NamesEditor, type Names } from './names-editor.tsx';
import { formatQuery, formatsQuery } from './wizard-query.ts';

interface FormatSettingsProps {
  readonly projectId: number;
  readonly format: string;
  readonly settings: SettingValues;
  readonly onChange: (change: SettingValues) => void;
}

/** The options of a ready-made format, and its names of events and properties. */
export function FormatSettings({ projectId, format, settings, onChange }: FormatSettingsProps) {
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
