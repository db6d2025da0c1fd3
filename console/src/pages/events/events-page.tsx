import { ComingPage } from '../../components/coming-page.tsx';

export function EventsPage() {
  return <ComingPage title="Events" />;
}
