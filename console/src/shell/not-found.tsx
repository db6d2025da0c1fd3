import { buttonStyle } from '../components/button.tsx';
import { PageHeader } from '../components/page-header.tsx';

export function NotFound() {
  return (
    <div className="mx-auto max-w-lg p-4 sm:pt-24">
      <PageHeader title="Page not found" description="Check the address, or go to your project." />
      <a href="/console/" className={buttonStyle('primary')}>
        Go to your project
      </a>
    </div>
  );
}
