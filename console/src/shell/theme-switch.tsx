import { Monitor, Moon, Sun } from 'lucide-react';
import { IconButton } from '../components/icon-button.tsx';
import { Menu } from '../components/menu.tsx';
import { useTheme, type Theme } from './theme.ts';

const themes = [
  { theme: 'system', label: 'As the system', icon: Monitor },
  { theme: 'light', label: 'Light', icon: Sun },
  { theme: 'dark', label: 'Dark', icon: Moon },
] as const satisfies readonly { theme: Theme; label: string; icon: typeof Sun }[];

export function ThemeSwitch() {
  const [theme, choose] = useTheme();
  const chosen = themes.find((each) => each.theme === theme) ?? themes[0];
  const entries = themes.map(({ theme, label, icon: Icon }) => ({
    label,
    icon: <Icon aria-hidden="true" className="size-4" />,
    onSelect: () => choose(theme),
  }));
  const Icon = chosen.icon;
  return (
    <Menu
      trigger={<IconButton label={`Theme: ${chosen.label}`} icon={<Icon aria-hidden="true" className="size-4" />} />}
      groups={[entries]}
    />
  );
}
