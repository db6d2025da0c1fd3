import { ComingPage } from '../../components/coming-page.tsx';

export function ImportRunPage() {
  return <ComingPage title="Import run" />;
}
