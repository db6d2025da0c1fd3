import type { NotShown } from './live-buffer.ts';

interface NotShownNoteProps {
  readonly notShown: NotShown;
  readonly shown: number;
  readonly breaks: number;
}

/** How many rows there are, and how many came by that are not among them, and why. */
export function NotShownNote({ notShown, shown, breaks }: NotShownNoteProps) {
  const { rate, slow, older } = notShown;
  const parts = [
    [older, 'older than the newest that are kept'],
    [rate, 'more of a stage than 100 in a second'],
    [slow, 'faster than this browser could take them'],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, why]) => `${count.toLocaleString('en')} ${why}`);
  const total = (rate + slow + older).toLocaleString('en');
  return (
    <div className="flex flex-col gap-0.5 pt-2 text-xs text-soft">
      <p>
        {shown.toLocaleString('en')} rows shown.{' '}
        {told.length > 0 &&
          `${total} came by that are not shown here: ${told.join('; ')}. They were processed all the same.`}
      </p>
      {breaks > 0 && (
        <p>
          The connection broke {breaks === 1 ? 'once' : `${breaks} times`}: what came by meanwhile was not seen here. It
          was processed all the same.
        </p>
      )}
    </div>
  );
}
