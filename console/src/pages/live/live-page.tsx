import { ComingPage } from '../../components/coming-page.tsx';

export function LivePage() {
  return <ComingPage title="Live" />;
}
