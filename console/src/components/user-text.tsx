import { useState } from 'react';
import { visible } from './plain-text.ts';

interface UserTextProps {
  readonly text: string;
  /** Longer texts are truncated, with a button that shows the rest. */
  readonly charsMax?: number;
  /** Truncates without the button, for links and single-line cells. */
  readonly short?: boolean;
  readonly className?: string;
}

/**
 * Shows untrusted text (names, ids, values, messages): isolates its direction, makes control characters visible and limits the
 * length.
 */
export function UserText({ text, charsMax = 300, short = false, className }: UserTextProps) {
  const [all, setAll] = useState(false);
  const isLong = text.length > charsMax;
  const shown = isLong && !all ? text.slice(0, charsMax).replace(/[\ud800-\udbff]$/, '') : text;
  return (
    <>
      <bdi className={className ?? 'wrap-anywhere'}>
        {visible(shown)}
        {isLong && !all && '…'}
      </bdi>
      {isLong && !short && (
        <button type="button" onClick={() => setAll(!all)} className="ml-1 text-xs text-accent underline">
          {all ? 'show less' : `show all ${text.length.toLocaleString('en')} characters`}
        </button>
      )}
    </>
  );
}
