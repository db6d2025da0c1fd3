import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';

type Renames = Readonly<Record<string, string>>;

interface RenamesEditorProps {
  readonly renames: Renames;
  /** Properties of the first records. */
  readonly names: readonly string[];
  readonly onChange: (renames: Renames) => void;
}

/** Old names of properties and their new ones. */
export function RenamesEditor({ renames, names, onChange }: RenamesEditorProps) {
  const list = useId();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const isReady = from.trim() !== '' && to.trim() !== '';
  const add = (): void => {
    if (!isReady) return;
    onChange({ ...renames, [from.trim()]: to.trim() });
    setFrom('');
    setTo('');
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="pb-1 text-sm font-medium">Rename properties</legend>
      {Object.entries(renames).map(([old, name]) => (
        <div key={old} className="grid grid-cols-[1fr_1fr_auto] items-center gap-2 text-sm">
          <code className="wrap-anywhere">{old}</code>
          <Input
            aria-label={`New name of ${old}`}
            value={name}
            onChange={({ target }) => onChange({ ...renames, [old]: target.value })}
          />
          <IconButton
            label={`Do not rename ${old}`}
            icon={<X aria-hidden="true" className="size-4" />}
            onClick={() => onChange(Object.fromEntries(Object.entries(renames).filter(([each]) => each !== old)))}
          />
        </div>
      ))}
      <div className="grid grid-cols-[1fr_1fr_auto] gap-2">
        <Input
          aria-label="Property to rename"
          placeholder="Old name"
          list={list}
          value={from}
          onChange={({ target }) => setFrom(target.value)}
        />
        <Input
          aria-label="Its new name"
          placeholder="New name"
          value={to}
          onChange={({ target }) => setTo(target.value)}
          onKeyDown={({ key }) => key === 'Enter' && add()}
        />
        <Button disabled={!isReady} icon={<Plus aria-hidden="true" className="size-4" />} onClick={add}>
          Add
        </Button>
        <datalist id={list}>
          {names.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </div>
    </fieldset>
  );
}
