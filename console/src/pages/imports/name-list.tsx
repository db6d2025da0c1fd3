import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { Input } from '../../components/input.tsx';
import { UserText } from '../../components/user-text.tsx';

interface NameListProps {
  readonly label: string;
  readonly hint?: string;
  readonly names: readonly string[];
  /** Known names, offered while typing. */
  readonly suggestions: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}

/** Names and patterns, each added and taken away by itself. */
export function NameList({ label, hint, names, suggestions, onChange }: NameListProps) {
  const list = useId();
  const [typed, setTyped] = useState('');
  const add = (): void => {
    const name = typed.trim();
    if (name !== '' && !names.includes(name)) onChange([...names, name]);
    setTyped('');
  };
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <>
          {names.length > 0 && (
            <ul className="flex flex-wrap gap-1.5">
              {names.map((name) => (
                <li
                  key={name}
                  className="flex max-w-full items-center gap-1 rounded-md bg-sunken py-0.5 pr-0.5 pl-2 text-sm"
                >
                  <UserText text={name} charsMax={60} short />
                  <button
                    type="button"
                    aria-label={`Remove ${name}`}
                    className="rounded p-1 text-soft hover:bg-hover hover:text-ink"
                    onClick={() => onChange(names.filter((each) => each !== name))}
                  >
                    <X aria-hidden="true" className="size-3.5" />
                  </button>
                </li>
              ))}
            </ul>
          )}
          <div className="flex gap-2">
            <Input
              {...control}
              list={list}
              placeholder="Name, or a pattern with *"
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return;
                event.preventDefault();
                add();
              }}
            />
            <datalist id={list}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
            <Button aria-label={`Add to: ${label}`} icon={<Plus aria-hidden="true" className="size-4" />} onClick={add}>
              Add
            </Button>
          </div>
        </>
      )}
    </Field>
  );
}
