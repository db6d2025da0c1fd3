import { EmptyState } from './empty-state.tsx';
import { PageHeader } from './page-header.tsx';

/** In the place of a page that is not there yet. */
export function ComingPage({ title }: { readonly title: string }) {
  return (
    <>
      <PageHeader title={title} />
      <EmptyState title="This page is coming">
        What it will show is in the API already, and on the command line: npx millrace help.
      </EmptyState>
    </>
  );
}
