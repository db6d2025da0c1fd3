import { ComingPage } from '../../components/coming-page.tsx';

export function ImportsPage() {
  return <ComingPage title="Imports" />;
}
