import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Input } from '../../components/input.tsx';
import { BareSelect } from '../../components/select.tsx';
import type { Format } from './wizard-query.ts';
import { plainText } from '../../components/plain-text.ts';

export type Names = Format['names'];
type Part = keyof Names;

const parts = [
  { value: 'events', label: 'Events' },
  { value: 'properties', label: 'Properties' },
  { value: 'person_properties', label: 'Properties of persons' },
] as const satisfies readonly { readonly value: Part; readonly label: string }[];

interface NamesEditorProps {
  readonly names: Names;
  readonly onChange: (names: Names) => void;
}

/** How events and properties of the source are called here; an empty name leaves one out. */
export function NamesEditor({ names, onChange }: NamesEditorProps) {
  const [part, setPart] = useState<Part>('events');
  const [added, setAdded] = useState('');
  const entries = Object.entries(names[part]);
  const set = (from: string, to: string | null): void => onChange({ ...names, [part]: { ...names[part], [from]: to } });
  return (
    <div className="flex flex-col gap-2">
      <BareSelect aria-label="Names of" value={part} choices={parts} onChange={setPart} />
      <ul className="flex max-h-80 flex-col gap-1.5 overflow-auto p-1">
        {entries.map(([from, to]) => (
          <li key={from} className="grid grid-cols-2 items-center gap-2 text-sm">
            <code className="wrap-anywhere">{from}</code>
            <Input
              aria-label={`New name of ${plainText(from)}`}
              placeholder="left out"
              value={to ?? ''}
              onChange={({ target }) => set(from, target.value === '' ? null : target.value)}
            />
          </li>
        ))}
        {entries.length === 0 && <li className="text-sm text-soft">No name is changed.</li>}
      </ul>
      <form
        className="flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (added !== '') set(added, added);
          setAdded('');
        }}
      >
        <Input
          aria-label="Name at the source"
          placeholder="Name at the source"
          value={added}
          onChange={({ target }) => setAdded(target.value)}
        />
        <Button type="submit" icon={<Plus aria-hidden="true" className="size-4" />}>
          Add
        </Button>
      </form>
    </div>
  );
}
