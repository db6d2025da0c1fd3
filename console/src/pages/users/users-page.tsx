import { ComingPage } from '../../components/coming-page.tsx';

export function UsersPage() {
  return <ComingPage title="Users" />;
}
