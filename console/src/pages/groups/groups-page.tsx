import { ComingPage } from '../../components/coming-page.tsx';

export function GroupsPage() {
  return <ComingPage title="Groups" />;
}
