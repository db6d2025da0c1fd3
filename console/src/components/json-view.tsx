import { counted } from './format-number.ts';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { classNames } from './class-names.ts';
import { CopyButton } from './copy-button.tsx';
import { isJsonObject, scalarText } from './json-value.ts';
import { UserText } from './user-text.tsx';

interface JsonViewProps {
  readonly value: unknown;
  /** Number of levels that are open initially. */
  readonly openDepth?: number;
  /** Accessible name, for pages with several. */
  readonly label?: string;
}

const itemsMax = 100;

/** Shows a JSON value as a collapsible tree with a copy button. */
export function JsonView({ value, openDepth = 2, label = 'JSON' }: JsonViewProps) {
  return (
    <div className="relative rounded-md border border-line bg-sunken">
      <div
        tabIndex={0}
        role="region"
        aria-label={label}
        dir="ltr"
        className="max-h-[32rem] overflow-auto p-2 pr-10 font-mono text-xs leading-5"
      >
        <JsonNode value={value} openDepth={openDepth} />
      </div>
      <div className="absolute top-1 right-1">
        <CopyButton text={() => JSON.stringify(value, null, 2)} label="Copy JSON" />
      </div>
    </div>
  );
}

interface JsonNodeProps {
  readonly name?: string;
  readonly value: unknown;
  readonly openDepth: number;
}

function JsonNode({ name, value, openDepth }: JsonNodeProps) {
  const entries = entriesOf(value);
  if (entries === undefined || entries.length === 0) {
    return (
      <div className="pl-4.5">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    );
  }
  return <JsonBranch name={name} entries={entries} isArray={Array.isArray(value)} openDepth={openDepth} />;
}

interface JsonBranchProps {
  readonly name: string | undefined;
  readonly entries: readonly (readonly [string, unknown])[];
  readonly isArray: boolean;
  readonly openDepth: number;
}

function JsonBranch({ name, entries, isArray, openDepth }: JsonBranchProps) {
  const [open, setOpen] = useState(openDepth > 0);
  const [shown, setShown] = useState(itemsMax);
  const count = counted(entries.length, isArray ? 'item' : 'key');
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex max-w-full items-start rounded text-left hover:bg-hover"
      >
        <ChevronRight
          aria-hidden="true"
          className={classNames('mt-0.5 mr-0.5 size-4 shrink-0 text-soft', open && 'rotate-90')}
        />
        <span className="min-w-0">
          <Name name={name} />
          <span className="text-soft">
            {isArray ? '[ ' : '{ '}
            {count}
            {isArray ? ' ]' : ' }'}
          </span>
        </span>
      </button>
      {open && (
        <div className="ml-2 border-l border-line pl-2">
          {entries.slice(0, shown).map(([key, item]) => (
            <JsonNode key={key} name={key} value={item} openDepth={openDepth - 1} />
          ))}
          {entries.length > shown && (
            <button
              type="button"
              className="pl-4.5 text-accent underline"
              onClick={() => setShown(shown + 10 * itemsMax)}
            >
              Show more ({(entries.length - shown).toLocaleString('en')} remaining)
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Name({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null;
  return (
    <>
      <span className="text-info">
        <UserText text={name} charsMax={200} />
      </span>
      {': '}
    </>
  );
}

function Scalar({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') {
    return (
      <span className="text-ok">
        "<UserText text={value} />"
      </span>
    );
  }
  if (Array.isArray(value) || isJsonObject(value))
    return <span className="text-soft">{Array.isArray(value) ? '[]' : '{}'}</span>;
  return <span className={value === null ? 'text-soft' : 'text-warn'}>{scalarText(value)}</span>;
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [String(index), item]);
  return isJsonObject(value) ? Object.entries(value) : undefined;
}
