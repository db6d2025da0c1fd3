import { ComingPage } from '../../components/coming-page.tsx';

export function PersonPage() {
  return <ComingPage title="Person" />;
}
