import { PageHeader } from '../components/page-header.tsx';

export function NotFound() {
  return (
    <div className="p-4">
      <PageHeader title="There is no such page" description="The address may be misspelt, or from another version." />
      <a href="/console/" className="text-accent underline">
        To your project
      </a>
    </div>
  );
}
