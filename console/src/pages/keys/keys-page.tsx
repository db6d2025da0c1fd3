import { ComingPage } from '../../components/coming-page.tsx';

export function KeysPage() {
  return <ComingPage title="Keys" />;
}
