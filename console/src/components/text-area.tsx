import type { ComponentProps, ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { Field } from './field.tsx';
import { inputStyle } from './input.tsx';

interface TextAreaProps extends Omit<ComponentProps<'textarea'>, 'id' | 'onChange' | 'value'> {
  readonly label: ReactNode;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

/** A multi-line input with a label. */
export function TextArea({ label, value, onChange, hint, error, className, ...props }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error} required={props.required === true}>
      {(control) => (
        <textarea
          rows={4}
          dir="auto"
          {...props}
          {...control}
          className={classNames(inputStyle, 'py-1.5', className)}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
