import { TriangleAlert } from 'lucide-react';
import { errorText } from './error-text.ts';
import { UserText } from './user-text.tsx';

/** Shows the error of an action in one line. Renders nothing without an error. */
export function ErrorNote({ error }: { readonly error: unknown }) {
  if (error === undefined || error === null) return null;
  const { title, advice } = errorText(error);
  return (
    <div role="alert" className="flex gap-2 rounded-md border border-danger/40 bg-danger-soft px-3 py-2 text-sm">
      <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-danger" />
      <p className="min-w-0">
        <UserText text={title} /> {advice}
      </p>
    </div>
  );
}
