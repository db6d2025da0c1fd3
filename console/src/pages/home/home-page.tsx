import { ComingPage } from '../../components/coming-page.tsx';

export function HomePage() {
  return <ComingPage title="Home" />;
}
