import type { ComponentProps, ReactNode } from 'react';
import { Field } from './field.tsx';
import { Input } from './input.tsx';

interface TextInputProps extends Omit<ComponentProps<'input'>, 'id' | 'onChange' | 'value'> {
  readonly label: ReactNode;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

/** A single-line input with a label. */
export function TextInput({ label, value, onChange, hint, error, ...props }: TextInputProps) {
  return (
    <Field label={label} hint={hint} error={error} required={props.required === true}>
      {(control) => <Input {...props} {...control} value={value} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}
