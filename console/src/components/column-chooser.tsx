import { Columns3 } from 'lucide-react';
import { useState } from 'react';
import { Button } from './button.tsx';
import { Checkbox } from './checkbox.tsx';
import { Dialog } from './dialog.tsx';
import { EmptyState } from './empty-state.tsx';
import { Input } from './input.tsx';
import { UserText } from './user-text.tsx';

interface ColumnChooserProps {
  readonly chosen: readonly string[];
  readonly names: readonly string[];
  /** A sentence about what is shown if none is chosen. */
  readonly note?: string;
  readonly onChange: (chosen: readonly string[]) => void;
}

const columnsMax = 12;

/** Selects the properties that have a separate column. */
export function ColumnChooser({ chosen, names, note = '', onChange }: ColumnChooserProps) {
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState('');
  const all = [...new Set([...chosen, ...names])];
  const found = all.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const toggle = (name: string, on: boolean): void =>
    onChange(on ? [...chosen, name] : chosen.filter((each) => each !== name));
  return (
    <>
      <Button icon={<Columns3 aria-hidden="true" className="size-4" />} onClick={() => setOpen(true)}>
        Columns
      </Button>
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title="Columns"
        description={`Properties with a separate column, up to ${columnsMax}. ${note}`}
        footer={
          <>
            <Button onClick={() => onChange([])} disabled={chosen.length === 0}>
              None
            </Button>
            <Button kind="primary" onClick={() => setOpen(false)}>
              Done
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-2">
          <Input
            type="search"
            aria-label="Search properties"
            placeholder="Search properties"
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
          />
          {found.length === 0 && <EmptyState title="No matching properties" />}
          {found.slice(0, 200).map((name) => (
            <Checkbox
              key={name}
              label={<UserText text={name} charsMax={100} short />}
              checked={chosen.includes(name)}
              disabled={!chosen.includes(name) && chosen.length >= columnsMax}
              onChange={(on) => toggle(name, on)}
            />
          ))}
        </div>
      </Dialog>
    </>
  );
}
