import { ComingPage } from '../../components/coming-page.tsx';

export function SettingsPage() {
  return <ComingPage title="Settings" />;
}
