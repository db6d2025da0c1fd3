import { ComingPage } from '../../components/coming-page.tsx';

export function TransformationPage() {
  return <ComingPage title="Transformation" />;
}
