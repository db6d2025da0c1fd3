import { useState } from 'react';
import { visible } from './visible-text.ts';

interface UserTextProps {
  readonly text: string;
  /** Longer texts are cut there, with a button that shows the rest. */
  readonly charsMax?: number;
  /** Cut without the button, where a button has no place (in links and in cells of one line). */
  readonly short?: boolean;
  readonly className?: string;
}

/**
 * Text that somebody else wrote (names, ids, values, messages), shown as text: what could turn the direction of the rest is
 * isolated, control characters are made visible, and length is bounded.
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
