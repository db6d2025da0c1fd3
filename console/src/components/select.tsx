import { ChevronDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { Field, type ControlProps } from './field.tsx';
import { inputStyle } from './input.tsx';
import { plainText } from './plain-text.ts';

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

interface BareSelectProps<Value extends string> extends Partial<ControlProps> {
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean;
  readonly 'aria-label'?: string;
}

/** The native select, for keyboard and touch support, without a label. Select adds a label. */
export function BareSelect<Value extends string>({ value, choices, onChange, ...props }: BareSelectProps<Value>) {
  return (
    <span className="relative inline-flex w-full min-w-0">
      <select
        {...props}
        value={value}
        onChange={(event) => {
          const chosen = choices.find((choice) => choice.value === event.target.value);
          if (chosen !== undefined) onChange(chosen.value);
        }}
        className={classNames(inputStyle, 'h-8 appearance-none pr-8')}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {plainText(choice.label)}
          </option>
        ))}
      </select>
      <ChevronDown aria-hidden="true" className="pointer-events-none absolute top-2 right-2 size-4 text-soft" />
    </span>
  );
}

interface SelectProps<Value extends string> {
  readonly label: ReactNode;
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
}

export function Select<Value extends string>({ label, hint, error, ...props }: SelectProps<Value>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => <BareSelect {...props} {...control} />}
    </Field>
  );
}
