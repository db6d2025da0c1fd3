import { Button } from './button.tsx';
import type { ControlProps } from './field.tsx';
import { isJsonObject } from './json-value.ts';
import { UserText } from './user-text.tsx';
import { plainText } from './plain-text.ts';

interface FileInputProps {
  readonly control: ControlProps;
  /** Display name of the setting. */
  readonly name: string;
  readonly stored: unknown;
  /** The selected File, or the description of the stored one. */
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly disabled?: boolean;
  readonly accept?: string;
}

/** Selects, replaces or removes a file. */
export function FileInput({ control, name, stored, value, onChange, disabled, accept }: FileInputProps) {
  const fileName = nameOf(value);
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
      {fileName !== undefined && (
        <p className="flex flex-wrap items-center gap-2 text-xs text-soft">
          <span>
            {value instanceof File ? 'Will be uploaded on save: ' : 'Current: '}
            <UserText text={fileName} charsMax={80} short />
          </span>
          {!(value instanceof File) && (
            <Button
              kind="quiet"
              size="small"
              aria-label={`Remove ${plainText(name)}`}
              disabled={disabled}
              onClick={() => onChange('')}
            >
              Remove
            </Button>
          )}
        </p>
      )}
      {value === '' && isJsonObject(stored) && <p className="text-xs text-warn">Will be removed on save.</p>}
    </div>
  );
}

function nameOf(value: unknown): string | undefined {
  if (value instanceof File) return value.name;
  if (!isJsonObject(value)) return undefined;
  const { name } = value;
  return typeof name === 'string' ? name : 'a file';
}
