import { ComingPage } from '../../components/coming-page.tsx';

export function NewImportPage() {
  return <ComingPage title="New import" />;
}
