import { Button } from './button.tsx';
import type { ControlProps } from './field.tsx';
import { isJsonObject } from './json-value.ts';
import { UserText } from './user-text.tsx';
import { plainText } from './plain-text.ts';

interface FileInputProps {
  readonly control: ControlProps;
  /** What it is called. */
  readonly name: string;
  readonly stored: unknown;
  /** A File that was chosen, or what describes the one that is set. */
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly disabled?: boolean;
  readonly accept?: string;
}

/** A file: chosen, replaced, taken away. */
export function FileInput({ control, name, stored, value, onChange, disabled, accept }: FileInputProps) {
  const present = nameOf(value);
  return (
    <div className="flex flex-col gap-1.5">
      <input
        {...control}
        type="file"
        accept={accept}
        disabled={disabled}
        onChange={(event) => onChange(event.target.files?.[0] ?? stored)}
        className="w-full min-w-0 text-sm text-soft file:mr-3 file:h-8 file:rounded-md file:border file:border-solid file:border-line file:bg-surface file:px-3 file:text-sm file:font-medium file:text-ink"
      />
      {present !== undefined && (
        <p className="flex flex-wrap items-center gap-2 text-xs text-soft">
          <span>
            {value instanceof File ? 'Uploaded when saved: ' : 'Now: '}
            <UserText text={present} charsMax={80} short />
          </span>
          {!(value instanceof File) && (
            <Button
              kind="quiet"
              size="small"
              aria-label={`Remove the file of ${plainText(name)}`}
              disabled={disabled}
              onClick={() => onChange('')}
            >
              Remove
            </Button>
          )}
        </p>
      )}
      {value === '' && isJsonObject(stored) && <p className="text-xs text-warn">Removed when saved.</p>}
    </div>
  );
}

function nameOf(value: unknown): string | undefined {
  if (value instanceof File) return value.name;
  if (!isJsonObject(value)) return undefined;
  const { name } = value;
  return typeof name === 'string' ? name : 'a file';
}
