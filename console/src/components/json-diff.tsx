import { counted } from './format-number.ts';
import { useMemo, useState } from 'react';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { diffJson, type DiffLine } from './diff-json.ts';
import { Notice } from './notice.tsx';
import { UserText } from './user-text.tsx';

interface JsonDiffProps {
  readonly before: unknown;
  /** `null` means that the value was dropped. */
  readonly after: unknown;
  /** Names of both sides: "Before" and "After", "Version 3" and "Now". */
  readonly beforeLabel?: string;
  readonly afterLabel?: string;
  /** Accessible name, for pages with several. */
  readonly label?: string;
}

const linesMax = 1_000;
const signs = { same: ' ', added: '+', removed: '-' } as const;
const spoken = { same: '', added: 'added: ', removed: 'removed: ' } as const;

/** Shows the difference of two values line by line, or that the value is unchanged or was dropped. */
export function JsonDiff({ before, after, beforeLabel = 'Before', afterLabel = 'After', label }: JsonDiffProps) {
  const [whole, setWhole] = useState(false);
  const dropped = after === null && before !== null;
  const lines = useMemo(() => diffJson(before, dropped ? before : after), [before, after, dropped]);
  const changes = lines.filter(({ kind }) => kind !== 'same').length;
  const shown = whole || changes === 0 ? lines : aroundChanges(lines);
  return (
    <div className="flex flex-col gap-2">
      {dropped && <Notice tone="warn">Dropped: nothing remains after this step.</Notice>}
      {!dropped && changes === 0 && <Notice tone="info">No changes.</Notice>}
      {changes > 0 && (
        <div className="flex flex-wrap items-center justify-between gap-2 text-xs text-soft">
          <span>
            <span className="text-danger">− {beforeLabel}</span> <span className="text-ok">+ {afterLabel}</span>
          </span>
          <Button kind="quiet" size="small" aria-pressed={whole} onClick={() => setWhole(!whole)}>
            {whole ? 'Show changes only' : 'Show all'}
          </Button>
        </div>
      )}
      <DiffLines lines={shown.slice(0, linesMax)} label={label ?? 'Difference'} />
      {shown.length > linesMax && (
        <p className="text-xs text-soft">
          {counted(shown.length - linesMax, 'more line is', 'more lines are')} not shown.
        </p>
      )}
    </div>
  );
}

function DiffLines({ lines, label }: { readonly lines: readonly (DiffLine | null)[]; readonly label: string }) {
  return (
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      dir="ltr"
      className="max-h-[32rem] overflow-auto rounded-md border border-line bg-surface py-1 font-mono text-xs leading-5"
    >
      {lines.map((line, index) =>
        line === null ? (
          <div key={index} className="bg-sunken px-2 text-faint">
            ⋯
          </div>
        ) : (
          <DiffRow key={index} line={line} />
        ),
      )}
    </div>
  );
}

function DiffRow({ line: { kind, depth, key, text } }: { readonly line: DiffLine }) {
  return (
    <div
      className={classNames(
        'flex px-2 whitespace-pre-wrap',
        kind === 'added' && 'bg-ok-soft text-ok',
        kind === 'removed' && 'bg-danger-soft text-danger',
      )}
    >
      <span aria-hidden="true" className="w-4 shrink-0 select-none">
        {signs[kind]}
      </span>
      <span className="min-w-0" style={{ paddingLeft: `${Math.min(depth, 20)}em` }}>
        <span className="sr-only">{spoken[kind]}</span>
        {key !== '' && <UserText text={key} charsMax={200} short />}
        <UserText text={text} charsMax={500} />
      </span>
    </div>
  );
}

const contextLines = 2;

/** Returns changed lines with their context; null marks omitted lines. */
function aroundChanges(lines: readonly DiffLine[]): (DiffLine | null)[] {
  const near = lines.map((_line, index) =>
    lines.slice(Math.max(0, index - contextLines), index + contextLines + 1).some(({ kind }) => kind !== 'same'),
  );
  return lines.flatMap((line, index) => {
    if (near[index] === true) return [line];
    return index === 0 || near[index - 1] === true ? [null] : [];
  });
}
