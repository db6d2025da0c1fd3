import { ComingPage } from '../../components/coming-page.tsx';

export function UsagePage() {
  return <ComingPage title="Usage" />;
}
