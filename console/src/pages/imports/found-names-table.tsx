import { counted } from '../../components/format-number.ts';
import { useState } from 'react';
import type { NameLists } from '../../../../src/wire/contract/import-choice.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Input } from '../../components/input.tsx';
import { plainText } from '../../components/plain-text.ts';
import { UserText } from '../../components/user-text.tsx';
import { type FoundName, selectionOf, withName } from './found-names.ts';

export type Renames = Readonly<Record<string, string>>;

interface FoundNamesTableProps {
  readonly what: 'events' | 'properties';
  readonly names: readonly FoundName[];
  /** Events in the previewed records. */
  readonly total: number;
  readonly lists: NameLists;
  readonly onLists: (lists: NameLists) => void;
  /** Only properties have new names. */
  readonly renames?: Renames;
  readonly onRenames?: (renames: Renames) => void;
}

const shownAtFirst = 25;

/** The names found in the first records: untick to exclude, type to rename. */
export function FoundNamesTable(props: FoundNamesTableProps) {
  const { what, names, total } = props;
  const [showsAll, setShowsAll] = useState(false);
  if (names.length === 0) return null;
  const shown = showsAll ? names : names.slice(0, shownAtFirst);
  return (
    <section className="flex flex-col items-start gap-2">
      <h3 className="text-sm font-medium">
        {what === 'events' ? 'Events' : 'Properties'} found{' '}
        <span className="font-normal text-soft">in the first {counted(total, 'event')}</span>
      </h3>
      <div tabIndex={0} role="region" aria-label={`${what} found`} className="w-full max-w-4xl overflow-x-auto">
        <table className="w-full text-left text-sm">
          <thead className="text-xs text-soft">
            <tr className="border-b border-line">
              <th className="py-1 pr-3 font-medium">Import</th>
              <th className="py-1 pr-3 text-right font-medium">Events</th>
              {what === 'properties' && <th className="py-1 pr-3 font-medium max-sm:hidden">Example</th>}
              {what === 'properties' && <th className="py-1 font-medium">New name</th>}
            </tr>
          </thead>
          <tbody>
            {shown.map((each) => (
              <FoundRow key={each.name} {...props} found={each} />
            ))}
          </tbody>
        </table>
      </div>
      {names.length > shownAtFirst && (
        <Button kind="quiet" size="small" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show fewer' : `Show all ${names.length}`}
        </Button>
      )}
    </section>
  );
}

function FoundRow({
  found: { name, count, example },
  lists,
  onLists,
  renames = {},
  onRenames,
}: FoundNamesTableProps & { readonly found: FoundName }) {
  const renamed = renames[name] ?? '';
  // Lists apply after names are changed.
  const stored = renamed === '' ? name : renamed;
  const selection = selectionOf(stored, lists);
  return (
    <tr className="border-b border-line last:border-b-0">
      <td className="max-w-72 py-1 pr-3">
        {/* Names wrap anywhere: without a minimum a narrow table would break them after each letter. */}
        <div className="min-w-36">
          <Checkbox
            label={<UserText text={name} charsMax={60} short />}
            hint={selection === 'pattern' ? 'excluded by a pattern below' : undefined}
            checked={selection === 'imported'}
            disabled={selection === 'pattern'}
            onChange={(isImported) => onLists(withName(lists, stored, isImported))}
          />
        </div>
      </td>
      <td className="py-1 pr-3 text-right tabular-nums">{count.toLocaleString('en')}</td>
      {onRenames !== undefined && (
        <>
          <td className="max-w-60 truncate py-1 pr-3 text-soft max-sm:hidden">
            <UserText text={example} charsMax={60} short />
          </td>
          <td className="py-1">
            <div className="w-26 sm:w-48">
              <Input
                aria-label={`New name of ${plainText(name)}`}
                placeholder={plainText(name)}
                value={renamed}
                disabled={selection !== 'imported'}
                onChange={({ target }) => onRenames(withRename(renames, name, target.value))}
              />
            </div>
          </td>
        </>
      )}
    </tr>
  );
}

function withRename(renames: Renames, name: string, to: string): Renames {
  const { [name]: _, ...others } = renames;
  return to === '' ? others : { ...others, [name]: to };
}
