import { Dialog as Base } from '@base-ui/react/dialog';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import {
  Check,
  ChevronsUpDown,
  CircleUser,
  LogOut,
  Menu as MenuIcon,
  Monitor,
  MonitorX,
  Moon,
  Search,
  Sun,
  X,
} from 'lucide-react';
import { lazy, startTransition, Suspense, useLayoutEffect, useRef, useState } from 'react';
import type { Me } from '../api/users.ts';
import { request } from '../api/request.ts';
import { Button } from '../components/button.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { Menu } from '../components/menu.tsx';
import { useToast } from '../components/toasts.tsx';
import { UserText } from '../components/user-text.tsx';
import { isTyping } from './is-typing.ts';
import { Navigation } from './navigation.tsx';
import { useProject, useProjectContext } from './project-context.tsx';
import { signOut } from './sign-in.ts';
import { type Theme, useTheme } from './theme.ts';

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

/** The navigation on narrow screens. */
function NavigationDrawer() {
  const { id } = useProject();
  const [open, setOpen] = useState(false);
  return (
    <Base.Root open={open} onOpenChange={setOpen}>
      <IconButton
        label="Open navigation"
        className="md:hidden"
        icon={<MenuIcon aria-hidden="true" className="size-4" />}
        onClick={() => setOpen(true)}
      />
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Base.Popup className="fixed inset-y-0 left-0 z-40 flex w-64 max-w-[85vw] flex-col border-r border-line bg-surface shadow-float">
          <div className="flex h-12 items-center justify-between border-b border-line px-3">
            <Base.Title className="font-semibold">Millrace</Base.Title>
            <IconButton
              label="Close"
              icon={<X aria-hidden="true" className="size-4" />}
              onClick={() => setOpen(false)}
            />
          </div>
          <nav aria-label="Pages" className="min-h-0 overflow-y-auto">
            <Navigation projectId={id} narrow={false} onNavigate={() => setOpen(false)} />
          </nav>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** Switches to the home page of another project. */
function ProjectSwitcher() {
  const { project, projects } = useProjectContext();
  const navigate = useNavigate();
  return (
    <Menu
      align="start"
      trigger={
        <Button kind="quiet" className="max-w-56 min-w-0 shrink! px-2!">
          <span className="sr-only">Project: </span>
          <span className="truncate font-medium text-ink">
            <UserText text={project.name} charsMax={60} short className="" />
          </span>
          <ChevronsUpDown aria-hidden="true" className="size-3.5 shrink-0" />
        </Button>
      }
      groups={[
        projects.map(({ id, name }) => ({
          label: <UserText text={name} charsMax={60} short />,
          icon: <Check aria-hidden="true" className={`size-4 ${id === project.id ? '' : 'invisible'}`} />,
          onSelect: () => void navigate({ to: '/projects/$projectId/home', params: { projectId: String(id) } }),
        })),
      ]}
    />
  );
}

const themes = [
  { theme: 'system', label: 'System', icon: Monitor },
  { theme: 'light', label: 'Light', icon: Sun },
  { theme: 'dark', label: 'Dark', icon: Moon },
] as const satisfies readonly { theme: Theme; label: string; icon: typeof Sun }[];

function ThemeSwitch() {
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

function UserMenu({ me }: { readonly me: Me }) {
  const toast = useToast();
  const leave = useMutation({
    mutationFn: async (everywhere: boolean) => {
      if (!everywhere) return signOut();
      await request('/api/users/@me/sessions', { method: 'DELETE' });
      return undefined;
    },
    onSuccess: (atProvider) => location.assign(atProvider ?? '/console/'),
    onError: (error) => toast.error(error),
  });
  const name = me.first_name === '' ? me.email : me.first_name;
  return (
    <Menu
      trigger={<IconButton label={`User: ${name}`} icon={<CircleUser aria-hidden="true" className="size-4" />} />}
      heading={
        <span className="flex min-w-0 flex-col">
          <UserText text={name} charsMax={60} short />
          <span className="text-xs text-soft">
            <UserText text={me.organization.name} charsMax={60} short /> · {me.role}
          </span>
        </span>
      }
      groups={[
        [
          {
            label: 'Sign out',
            icon: <LogOut aria-hidden="true" className="size-4" />,
            onSelect: () => leave.mutate(false),
          },
          {
            label: 'Sign out everywhere',
            icon: <MonitorX aria-hidden="true" className="size-4" />,
            onSelect: () => leave.mutate(true),
          },
        ],
      ]}
    />
  );
}

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }));
const ShortcutSheet = lazy(async () => ({ default: (await import('./shortcut-sheet.tsx')).ShortcutSheet }));

/** Opens the command palette (also mod+k); `?` opens the list of shortcuts. Both are loaded on first use. */
function PaletteButton() {
  const [open, setOpen] = useState<'palette' | 'shortcuts'>();
  // A transition: otherwise React shows the empty fallback and then delays the loaded content by 300 ms.
  const show = (what: 'palette' | 'shortcuts'): void => startTransition(() => setOpen(what));
  useGeneralKeys({ onPalette: () => show('palette'), onShortcuts: () => show('shortcuts') });
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Button kind="plain" icon={<Search aria-hidden="true" className="size-4" />} onClick={() => show('palette')}>
        <span className="sr-only text-soft sm:not-sr-only">Search</span>
        <kbd
          aria-hidden="true"
          className="hidden rounded border border-line px-1 font-sans text-xs text-soft sm:inline"
        >
          Ctrl K
        </kbd>
      </Button>
      <Suspense>
        {open === 'palette' && <CommandPalette onClose={close} onShortcuts={() => show('shortcuts')} />}
        {open === 'shortcuts' && <ShortcutSheet onClose={close} />}
      </Suspense>
    </>
  );
}

interface GeneralKeys {
  readonly onPalette: () => void;
  readonly onShortcuts: () => void;
}

/** Handles the shortcuts of every page: mod+k, `?`, and mod+enter, which submits the focused form. */
function useGeneralKeys(keys: GeneralKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  // Before paint: users may type as soon as they see the page.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isMod = event.metaKey || event.ctrlKey;
      if (isMod && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        latest.current.onPalette();
      } else if (isMod && event.key === 'Enter' && !event.defaultPrevented) {
        if (event.target instanceof Element) event.target.closest('form')?.requestSubmit();
      } else if (event.key === '?' && !isTyping(event)) latest.current.onShortcuts();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}
