import { scopeObjects } from '../../../../src/wire/contract/scopes.ts';
import { BareSelect, type Choice } from '../../components/select.tsx';
import { accessesOf, objects, presets, scopesOf, type Access } from './key-scopes.ts';

interface ScopePickerProps {
  readonly scopes: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}

const choices: readonly Choice<Access>[] = [
  { value: 'none', label: 'No access' },
  { value: 'read', label: 'Read' },
  { value: 'write', label: 'Read and write' },
];

/** A preset, or what the key may do with each kind of object. */
export function ScopePicker({ scopes, onChange }: ScopePickerProps) {
  const isAll = scopes.includes('*');
  const accesses = accessesOf(scopes);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="pb-1 text-sm font-medium">What it may do</legend>
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        {presets.map((preset) => (
          <PresetButton
            key={preset.name}
            name={preset.name}
            hint={preset.hint}
            chosen={isSame(preset.scopes, scopes)}
            onChoose={() => onChange(preset.scopes)}
          />
        ))}
        <PresetButton
          name="Only what I choose"
          hint="Begins with nothing; choose below."
          chosen={!presets.some((preset) => isSame(preset.scopes, scopes))}
          onChoose={() => onChange([])}
        />
      </div>
      {!isAll && (
        <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
          {objects.map((object) => (
            <li key={object} className="flex items-center justify-between gap-3 px-3 py-1.5">
              <span className="min-w-0 text-sm">
                {scopeObjects[object]} <code className="text-xs text-soft">{object}</code>
              </span>
              <span className="w-36 shrink-0">
                <BareSelect
                  aria-label={`Access to ${object}`}
                  value={accesses[object]}
                  choices={choices}
                  onChange={(access) => onChange(scopesOf({ ...accesses, [object]: access }))}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

interface PresetButtonProps {
  readonly name: string;
  readonly hint: string;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

function PresetButton({ name, hint, chosen, onChoose }: PresetButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={chosen}
      onClick={onChoose}
      className="rounded-md border border-line px-3 py-2 text-left hover:bg-hover aria-pressed:border-accent aria-pressed:bg-hover"
    >
      <span className="block text-sm font-medium">{name}</span>
      <span className="block text-xs text-soft">{hint}</span>
    </button>
  );
}

function isSame(preset: readonly string[], scopes: readonly string[]): boolean {
  return preset.length === scopes.length && preset.every((scope) => scopes.includes(scope));
}
