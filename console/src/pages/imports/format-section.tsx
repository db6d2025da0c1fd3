import { useQuery } from '@tanstack/react-query';
import { Loading } from '../../components/loading.tsx';
import type { SettingValues } from '../../components/schema-values.ts';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { FormatSettings } from './format-settings.tsx';
import { MappingRulesForm } from './mapping-rules-form.tsx';
import { columnsOf } from './mapping-rules.ts';
import { formatsQuery, type Formats } from './wizard-query.ts';

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
