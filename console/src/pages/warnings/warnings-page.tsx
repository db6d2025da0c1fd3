import { ComingPage } from '../../components/coming-page.tsx';

export function WarningsPage() {
  return <ComingPage title="Warnings" />;
}
