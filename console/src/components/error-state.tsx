import { CircleAlert } from 'lucide-react';
import { Button } from './button.tsx';
import { errorText } from './error-text.ts';
import { UserText } from './user-text.tsx';

interface ErrorStateProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  readonly busy?: boolean;
}

/** Replaces content that could not be loaded: the error, advice and a retry button. */
export function ErrorState({ error, onRetry, busy }: ErrorStateProps) {
  const { title, advice } = errorText(error);
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <CircleAlert aria-hidden="true" className="size-6 text-danger" />
      <p className="max-w-lg font-medium">
        <UserText text={title} />
      </p>
      {advice !== '' && <p className="max-w-lg text-soft">{advice}</p>}
      {onRetry !== undefined && (
        <Button onClick={onRetry} busy={busy} className="mt-2">
          Try again
        </Button>
      )}
    </div>
  );
}
