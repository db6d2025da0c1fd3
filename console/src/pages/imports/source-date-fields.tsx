import { Button } from '../../components/button.tsx';
import { counted, formatDuration } from '../../components/format-number.ts';
import type { SettingValues } from '../../components/schema-values.ts';
import { TextInput } from '../../components/text-input.tsx';
import { datesOf, type ExportEstimate, estimateExport, lastYears, withDates } from './source-dates.ts';

interface SourceDateFieldsProps {
  /** Slug of the import app. */
  readonly slug: string;
  readonly values: SettingValues;
  readonly error?: string | undefined;
  readonly onChange: (change: SettingValues) => void;
}

/** The days to export, and how long the source takes for them. */
export function SourceDateFields({ slug, values, error, onChange }: SourceDateFieldsProps) {
  const dates = datesOf(values);
  const estimate = estimateExport(slug, dates, values, Date.now());
  return (
    <div className="flex flex-col gap-2">
      <div className="grid gap-3 sm:grid-cols-2">
        <TextInput
          label="First day"
          type="date"
          required
          error={error}
          value={dates.from}
          onChange={(from) => onChange(withDates(values, { ...dates, from }))}
        />
        <TextInput
          label="Before"
          type="date"
          hint="The first day that is not exported. Empty means until now."
          value={dates.before}
          onChange={(before) => onChange(withDates(values, { ...dates, before }))}
        />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {[1, 2].map((years) => (
          <Button key={years} size="small" onClick={() => onChange(withDates(values, lastYears(years, Date.now())))}>
            {years === 1 ? 'Last year' : `Last ${years} years`}
          </Button>
        ))}
        {estimate !== undefined && <p className="text-xs text-soft">{estimateText(estimate)}</p>}
      </div>
    </div>
  );
}

function estimateText({ days, ms }: ExportEstimate): string {
  const count = counted(days, 'day');
  if (ms === undefined) return count;
  return `${count}: the export takes at least ${formatDuration(ms)}, because the source limits requests per hour`;
}
