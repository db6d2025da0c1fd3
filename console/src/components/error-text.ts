import { ApiError, type ErrorCode } from '../api/api-error.ts';

/** What a person does about an error that has no better advice in its own sentence. */
const advices: Partial<Readonly<Record<ErrorCode, string>>> = {
  unreachable: 'It is tried again by itself as soon as the service answers.',
  unavailable: 'It is tried again by itself. Status shows which part is missing.',
  throttled: 'Too many requests at once: wait a little and try again.',
  not_authenticated: 'Sign in again.',
  permission_denied: 'Ask an administrator for the right to do this.',
  not_found: 'It may have been deleted. Go back to the list.',
  error: 'The log of the service tells more.',
};

/** A sentence of what happened and one of what to do. */
export function errorText(error: unknown): { readonly title: string; readonly advice: string } {
  if (error instanceof ApiError) return { title: error.detail, advice: advices[error.code] ?? '' };
  const title = error instanceof Error ? error.message : 'Something went wrong.';
  return { title, advice: 'Load the page again; when it stays so, it is a fault of the console.' };
}
