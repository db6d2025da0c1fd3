import { useState } from 'react';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import type { ControlProps } from './field.tsx';
import { Input, inputStyle } from './input.tsx';
import { plainText } from './plain-text.ts';

interface SecretInputProps {
  readonly control: ControlProps;
  /** What it is called. */
  readonly name: string;
  /** What stands for the secret that is set; empty: none is. */
  readonly stored: unknown;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly disabled?: boolean;
  /** A key file, say. */
  readonly multiline?: boolean;
}

/** A secret is never shown: it is set, replaced or cleared. */
export function SecretInput(props: SecretInputProps) {
  const { name, stored, onChange } = props;
  const [replacing, setReplacing] = useState(false);
  const isSet = stored !== undefined && stored !== '' && stored !== null;
  if (isSet && !replacing) return <SetSecret {...props} onReplace={() => setReplacing(true)} />;
  // Nothing typed is nothing replaced: a secret that is set goes with Clear alone.
  const type = (typed: string): void => onChange(typed === '' && isSet ? stored : typed);
  const cancel = (): void => {
    setReplacing(false);
    onChange(stored);
  };
  return (
    <div className="flex items-start gap-2">
      <SecretText {...props} onChange={type} focused={replacing} />
      {isSet && (
        <Button aria-label={`Keep the present ${plainText(name)}`} onClick={cancel}>
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
      <Badge tone={cleared ? 'warn' : 'ok'}>{cleared ? 'cleared when saved' : 'set'}</Badge>
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
