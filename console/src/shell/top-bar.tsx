import { useProjectContext } from './project-context.tsx';
import { NavigationDrawer } from './navigation-drawer.tsx';
import { PaletteButton } from './palette-button.tsx';
import { ProjectSwitcher } from './project-switcher.tsx';
import { ThemeSwitch } from './theme-switch.tsx';
import { UserMenu } from './user-menu.tsx';

export function TopBar() {
  const { me } = useProjectContext();
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b border-line bg-surface px-2 sm:px-4">
      <NavigationDrawer />
      <ProjectSwitcher />
      <div className="flex-1" />
      <PaletteButton />
      <ThemeSwitch />
      <UserMenu me={me} />
    </header>
  );
}
