import { useRef, useState } from 'react';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import type { ControlProps } from './field.tsx';
import { Input, inputStyle } from './input.tsx';

interface SecretInputProps {
  readonly control: ControlProps;
  /** What it is called. */
  readonly name: string;
  /** What stands for the secret that is set; undefined: none is. */
  readonly stored: unknown;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly disabled?: boolean;
  /** A key file, say. */
  readonly multiline?: boolean;
}

/** A secret is never shown: it is set, replaced or cleared. */
export function SecretInput(props: SecretInputProps) {
  const { control, name, stored, value, onChange, disabled, multiline = false } = props;
  const [replacing, setReplacing] = useState(false);
  const isSet = stored !== undefined && stored !== '' && stored !== null;
  const focusNext = useRef(false);
  const field = (node: HTMLInputElement | HTMLTextAreaElement | null): void => {
    if (!focusNext.current || node === null) return;
    focusNext.current = false;
    node.focus();
  };
  if (isSet && !replacing) {
    const cleared = value === '';
    return (
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <Badge tone={cleared ? 'warn' : 'ok'}>{cleared ? 'cleared when saved' : 'set'}</Badge>
        <Button
          {...control}
          size="small"
          aria-label={`Replace ${name}`}
          disabled={disabled}
          onClick={() => {
            focusNext.current = true;
            setReplacing(true);
            onChange(stored);
          }}
        >
          Replace
        </Button>
        <Button
          kind="quiet"
          size="small"
          aria-label={cleared ? `Keep ${name}` : `Clear ${name}`}
          disabled={disabled}
          onClick={() => onChange(cleared ? stored : '')}
        >
          {cleared ? 'Keep' : 'Clear'}
        </Button>
      </div>
    );
  }
  const text = typeof value === 'string' && value !== stored ? value : '';
  // Nothing typed is nothing replaced: a secret goes with Clear alone.
  const type = (typed: string): void => onChange(typed === '' && isSet ? stored : typed);
  const common = { ...control, disabled, value: text, autoComplete: 'off', spellCheck: false };
  return (
    <div className="flex items-start gap-2">
      {multiline ? (
        <textarea
          ref={field}
          {...common}
          rows={4}
          className={classNames(inputStyle, 'py-1.5 font-mono')}
          onChange={(event) => type(event.target.value)}
        />
      ) : (
        <Input
          ref={field}
          {...common}
          type="password"
          autoComplete="new-password"
          onChange={(event) => type(event.target.value)}
        />
      )}
      {isSet && (
        <Button
          aria-label={`Keep the present ${name}`}
          onClick={() => {
            setReplacing(false);
            onChange(stored);
          }}
        >
          Cancel
        </Button>
      )}
    </div>
  );
}
