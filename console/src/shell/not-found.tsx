import { PageHeader } from '../components/page-header.tsx';

export function NotFound() {
  return (
    <div className="p-4">
      <PageHeader title="Page not found" description="Check the address, or go to your project." />
      <a href="/console/" className="text-accent underline">
        Go to your project
      </a>
    </div>
  );
}
