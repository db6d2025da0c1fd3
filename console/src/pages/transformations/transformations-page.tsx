import { ComingPage } from '../../components/coming-page.tsx';

export function TransformationsPage() {
  return <ComingPage title="Transformations" />;
}
