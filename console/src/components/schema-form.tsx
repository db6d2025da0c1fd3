import { SchemaFieldInput } from './schema-field.tsx';
import {
  isField,
  isRequired,
  visibleEntries,
  type SchemaEntry,
  type SettingErrors,
  type SettingValues,
} from './schema-values.ts';
import { UserText } from './user-text.tsx';

interface SchemaFormProps {
  /** From `readSchema(plugin.config_schema)`. */
  readonly schema: readonly SchemaEntry[];
  /** Settings as the API shows them, with what was typed since. */
  readonly values: SettingValues;
  /** Settings as they are stored: `{}` for a config that is not yet. */
  readonly stored?: SettingValues;
  readonly onChange: (values: SettingValues) => void;
  /** From `missingSettings` or `settingErrors`. */
  readonly errors?: SettingErrors;
  /** Only to read. */
  readonly disabled?: boolean;
}

const nothing: SettingValues = {};

/**
 * The settings that a plugin asks for, as it declares them. What to send of them say `changedSettings` and `settingsBody`; secrets
 * are only ever set, replaced or cleared.
 */
export function SchemaForm({ schema, values, stored = nothing, onChange, errors = {}, disabled }: SchemaFormProps) {
  return (
    <div className="flex flex-col gap-4">
      {visibleEntries(schema, values).map((entry, index) =>
        isField(entry) ? (
          <SchemaFieldInput
            key={entry.key}
            field={entry}
            stored={stored[entry.key]}
            value={values[entry.key]}
            onChange={(value) => onChange({ ...values, [entry.key]: value })}
            required={isRequired(entry, schema, values)}
            error={errors[entry.key]}
            disabled={disabled}
          />
        ) : (
          <p key={index} className="text-sm text-soft">
            <UserText text={entry.markdown} charsMax={2000} />
          </p>
        ),
      )}
    </div>
  );
}
