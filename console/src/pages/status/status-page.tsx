import { ComingPage } from '../../components/coming-page.tsx';

export function StatusPage() {
  return <ComingPage title="Status" />;
}
