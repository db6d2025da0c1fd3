import { ComingPage } from '../../components/coming-page.tsx';

export function ImportPage() {
  return <ComingPage title="Import" />;
}
