import { ComingPage } from '../../components/coming-page.tsx';

export function AgreementsPage() {
  return <ComingPage title="Agreements" />;
}
