import { ComingPage } from '../../components/coming-page.tsx';

export function DeadLettersPage() {
  return <ComingPage title="Dead letters" />;
}
