import { useState } from 'react';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { CodeEditor } from './code-editor.tsx';
import { type ControlProps, Field } from './field.tsx';
import { FileInput } from './file-input.tsx';
import { Input, inputStyle } from './input.tsx';
import { plainText } from './plain-text.ts';
import {
  isField,
  isGiven,
  isRequired,
  type SchemaEntry,
  type SchemaField,
  type SettingErrors,
  type SettingValues,
  visibleEntries,
} from './schema-values.ts';
import { BareSelect } from './select.tsx';
import { UserText } from './user-text.tsx';

interface SchemaFormProps {
  /** Result of `readSchema(plugin.config_schema)`. */
  readonly schema: readonly SchemaEntry[];
  /** Settings from the API, with unsaved changes. */
  readonly values: SettingValues;
  /** Stored settings; `{}` for a new config. */
  readonly stored?: SettingValues;
  readonly onChange: (values: SettingValues) => void;
  /** Result of `missingSettings` or `settingErrors`. */
  readonly errors?: SettingErrors;
  /** Read-only. */
  readonly disabled?: boolean;
}

const noSettings: SettingValues = {};

/**
 * A form for the settings that a plugin declares. `changedSettings` and `settingsBody` build the request. Secrets can be set,
 * replaced or cleared, but are never shown.
 */
export function SchemaForm({ schema, values, stored = noSettings, onChange, errors = {}, disabled }: SchemaFormProps) {
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

interface SchemaFieldProps {
  readonly field: SchemaField;
  readonly stored: unknown;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly required: boolean;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
}

/** One setting with its label, hint and error. */
function SchemaFieldInput(props: SchemaFieldProps) {
  const { field, required, error } = props;
  const label = field.name === '' ? field.key : field.name;
  return (
    <Field
      label={<UserText text={label} charsMax={200} short />}
      hint={hintOf(field)}
      error={error}
      required={required}
    >
      {(control) => <Control {...props} control={control} name={label} />}
    </Field>
  );
}

function hintOf(field: SchemaField) {
  const standard = field.type === 'choice' || field.type === 'boolean' ? '' : textOf(field.default);
  const parts = [field.hint, field.markdown, standard !== '' && standard.length <= 200 && `Default: ${standard}`];
  const hint = parts.filter((part) => typeof part === 'string' && part !== '').join(' ');
  return hint === '' ? undefined : <UserText text={hint} charsMax={600} />;
}

interface SettingControlProps extends SchemaFieldProps {
  readonly control: ControlProps;
  readonly name: string;
}

function Control({ field, control, name, stored, value, onChange, disabled }: SettingControlProps) {
  const common = { control, name, stored, value, onChange, disabled };
  if (field.type === 'attachment') return <FileInput {...common} />;
  if (field.secret === true)
    return <SecretInput {...common} multiline={field.type === 'text' || field.type === 'json'} />;
  const text = textOf(value);
  const typed = { ...control, disabled, value: text, placeholder: textOf(field.default).slice(0, 100) };
  switch (field.type) {
    case 'choice':
    case 'boolean':
      return <ChoiceInput {...common} field={field} />;
    case 'json':
      return (
        <CodeEditor label={name} language="json" height="10rem" value={text} readOnly={disabled} onChange={onChange} />
      );
    case 'text':
      return (
        <textarea
          {...typed}
          rows={4}
          className={classNames(inputStyle, 'py-1.5')}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case 'number':
      return (
        <Input
          {...typed}
          inputMode={field.integer === true ? 'numeric' : 'decimal'}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    default:
      return <Input {...typed} onChange={(event) => onChange(event.target.value)} />;
  }
}

/** A select. Without a default it also offers an empty choice. */
function ChoiceInput({ field, control, value, onChange, disabled }: Omit<SettingControlProps, 'name' | 'required'>) {
  const values = field.type === 'boolean' ? ['true', 'false'] : (field.choices ?? []);
  const label = (choice: string): string => (field.type === 'boolean' ? (choice === 'true' ? 'Yes' : 'No') : choice);
  const standard = textOf(field.default);
  const choices = values.map((choice) => ({
    value: choice,
    label: choice === standard ? `${label(choice)} (default)` : label(choice),
  }));
  const shown = isGiven(value) ? textOf(value) : standard;
  const empty = { value: '', label: 'Choose…' };
  const unknown = { value: shown, label: shown };
  const listed = values.includes(shown) ? choices : shown === '' ? [empty, ...choices] : [unknown, ...choices];
  return <BareSelect {...control} value={shown} choices={listed} onChange={onChange} disabled={disabled} />;
}

/** Formats a setting as text; JSON values are indented. */
function textOf(value: unknown): string {
  if (!isGiven(value)) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

interface SecretInputProps {
  readonly control: ControlProps;
  /** Display name of the setting. */
  readonly name: string;
  /** Mask of the stored secret; empty if none is set. */
  readonly stored: unknown;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly disabled?: boolean;
  /** For long secrets such as key files. */
  readonly multiline?: boolean;
}

/** Sets, replaces or clears a secret without ever showing it. */
function SecretInput(props: SecretInputProps) {
  const { name, stored, onChange } = props;
  const [replacing, setReplacing] = useState(false);
  const isSet = stored !== undefined && stored !== '' && stored !== null;
  if (isSet && !replacing) return <SetSecret {...props} onReplace={() => setReplacing(true)} />;
  // An empty input keeps the stored secret; only Clear removes it.
  const type = (typed: string): void => onChange(typed === '' && isSet ? stored : typed);
  const cancel = (): void => {
    setReplacing(false);
    onChange(stored);
  };
  return (
    <div className="flex items-start gap-2">
      <SecretText {...props} onChange={type} focused={replacing} />
      {isSet && (
        <Button aria-label={`Keep current ${plainText(name)}`} onClick={cancel}>
          Cancel
        </Button>
      )}
    </div>
  );
}

function SetSecret({
  control,
  name,
  stored,
  value,
  onChange,
  onReplace,
  disabled,
}: SecretInputProps & { readonly onReplace: () => void }) {
  const cleared = value === '';
  const replace = (): void => {
    onChange(stored);
    onReplace();
  };
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-2">
      <Badge tone={cleared ? 'warn' : 'ok'}>{cleared ? 'cleared on save' : 'set'}</Badge>
      <Button
        id={control.id}
        size="small"
        aria-label={`Replace ${plainText(name)}`}
        disabled={disabled}
        onClick={replace}
      >
        Replace
      </Button>
      <Button
        kind="quiet"
        size="small"
        aria-label={`${cleared ? 'Keep' : 'Clear'} ${plainText(name)}`}
        disabled={disabled}
        onClick={() => onChange(cleared ? stored : '')}
      >
        {cleared ? 'Keep' : 'Clear'}
      </Button>
    </div>
  );
}

interface SecretTextProps extends Omit<SecretInputProps, 'onChange'> {
  readonly onChange: (typed: string) => void;
  readonly focused: boolean;
}

function SecretText({ control, stored, value, onChange, disabled, multiline = false, focused }: SecretTextProps) {
  const shared = {
    ...control,
    disabled,
    value: typeof value === 'string' && value !== stored ? value : '',
    spellCheck: false,
    autoFocus: focused,
  };
  if (!multiline) {
    return (
      <Input
        {...shared}
        type="password"
        autoComplete="new-password"
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <textarea
      {...shared}
      rows={4}
      autoComplete="off"
      className={classNames(inputStyle, 'py-1.5 font-mono')}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
