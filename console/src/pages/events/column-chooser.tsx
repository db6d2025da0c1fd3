import { Columns3 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Input } from '../../components/input.tsx';
import { UserText } from '../../components/user-text.tsx';

interface ColumnChooserProps {
  readonly chosen: readonly string[];
  readonly names: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

const columnsMax = 12;

/** Which properties have a column of their own. */
export function ColumnChooser({ chosen, names, onChange }: ColumnChooserProps) {
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
        description={`Properties with a column of their own, at most ${columnsMax}. Without any, one column has them all.`}
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
          {found.length === 0 && <EmptyState title="No stored event has such a property" />}
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
