import { ComingPage } from '../../components/coming-page.tsx';

export function ActivityPage() {
  return <ComingPage title="Activity" />;
}
