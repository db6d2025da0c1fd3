import { classNames } from './class-names.ts';
import { CodeEditor } from './code-editor.tsx';
import { Field, type ControlProps } from './field.tsx';
import { FileInput } from './file-input.tsx';
import { Input, inputStyle } from './input.tsx';
import { SecretInput } from './secret-input.tsx';
import { isGiven, type SchemaField } from './schema-values.ts';
import { BareSelect } from './select.tsx';
import { UserText } from './user-text.tsx';

export interface SchemaFieldProps {
  readonly field: SchemaField;
  /** What is stored. */
  readonly stored: unknown;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly required: boolean;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
}

/** One setting with its label, its hint and what is wrong with it. */
export function SchemaFieldInput(props: SchemaFieldProps) {
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

/** Without a default, nothing chosen is a choice too. */
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

/** Settings travel as text; JSON values are shown as it. */
function textOf(value: unknown): string {
  if (!isGiven(value)) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
