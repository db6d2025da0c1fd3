import { ComingPage } from '../../components/coming-page.tsx';

export function PersonsPage() {
  return <ComingPage title="Persons" />;
}
