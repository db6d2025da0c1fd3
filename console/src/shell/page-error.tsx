import type { ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '../api/api-error.ts';
import { ErrorState } from '../components/error-state.tsx';

/** In place of a page that failed. Anything but a refused request may be a page of an older version: loading anew cures it. */
export function PageError({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={error instanceof ApiError ? reset : () => location.reload()} />;
}
