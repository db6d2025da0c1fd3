import { Dialog as Base } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { BookOpen, FolderOpen, Keyboard, Monitor, Moon, Sun, type LucideIcon } from 'lucide-react';
import { UserText } from '../components/user-text.tsx';
import { navigation } from './navigation-items.ts';
import { useProjectContext } from './project-context.tsx';
import { useTheme } from './theme.ts';

interface CommandPaletteProps {
  readonly onClose: () => void;
  readonly onShortcuts: () => void;
}

/** Finds pages, projects and general commands by name. */
export function CommandPalette({ onClose, onShortcuts }: CommandPaletteProps) {
  const { project, projects } = useProjectContext();
  const navigate = useNavigate();
  const [, chooseTheme] = useTheme();
  const run = (action: () => void) => (): void => {
    onClose();
    action();
  };
  const params = { projectId: String(project.id) };
  return (
    <Base.Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Base.Popup className="fixed top-[12dvh] left-1/2 z-40 w-[min(36rem,calc(100vw-1.5rem))] -translate-x-1/2 overflow-hidden rounded-xl border border-line bg-surface shadow-float">
          <Base.Title className="sr-only">Search pages and commands</Base.Title>
          <Command label="Search pages and commands" loop>
            <Command.Input
              autoFocus
              placeholder="Go to a page or project"
              className="h-11 w-full border-b border-line bg-transparent px-4 text-base outline-none"
            />
            <Command.List className="max-h-[50dvh] overflow-auto p-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-faint">
              <Command.Empty className="px-2 py-6 text-center text-soft">No matches.</Command.Empty>
              <Command.Group heading="Pages">
                {navigation.flatMap(({ items }) =>
                  items.map((item) => (
                    <Row
                      key={item.to}
                      icon={item.icon}
                      label={item.label}
                      keywords={item.keywords}
                      onSelect={run(() => void navigate({ to: item.to, params }))}
                    />
                  )),
                )}
              </Command.Group>
              <Command.Group heading="Projects">
                {projects.map(({ id, name }) => (
                  <Row
                    key={id}
                    icon={FolderOpen}
                    label={name}
                    value={`project ${id} ${name}`}
                    onSelect={run(
                      () => void navigate({ to: '/projects/$projectId/home', params: { projectId: String(id) } }),
                    )}
                  />
                ))}
              </Command.Group>
              <Command.Group heading="General">
                <Row icon={Sun} label="Light theme" onSelect={run(() => chooseTheme('light'))} />
                <Row icon={Moon} label="Dark theme" onSelect={run(() => chooseTheme('dark'))} />
                <Row icon={Monitor} label="System theme" onSelect={run(() => chooseTheme('system'))} />
                <Row icon={Keyboard} label="Keyboard shortcuts" onSelect={onShortcuts} />
                <Row
                  icon={BookOpen}
                  label="API reference"
                  onSelect={run(() => window.open('/api/docs', '_blank', 'noopener'))}
                />
              </Command.Group>
            </Command.List>
          </Command>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface RowProps {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly keywords?: string | undefined;
  /** Distinguishes entries with the same label. */
  readonly value?: string;
  readonly onSelect: () => void;
}

function Row({ icon: Icon, label, keywords, value, onSelect }: RowProps) {
  return (
    <Command.Item
      value={value ?? label}
      keywords={keywords?.split(' ') ?? []}
      onSelect={onSelect}
      className="flex h-9 items-center gap-2.5 rounded-md px-2 data-[selected=true]:bg-hover"
    >
      <Icon aria-hidden="true" className="size-4 text-soft" />
      <UserText text={label} charsMax={80} short />
    </Command.Item>
  );
}
