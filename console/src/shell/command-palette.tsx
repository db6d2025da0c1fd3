import { Dialog as Base } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command, defaultFilter } from 'cmdk';
import {
  ArrowDownToLine,
  BookOpen,
  FolderOpen,
  Keyboard,
  List,
  Monitor,
  Moon,
  Sun,
  Users,
  Workflow,
  type LucideIcon,
} from 'lucide-react';
import { useState } from 'react';
import { configsQuery } from '../api/configs.ts';
import { UserText } from '../components/user-text.tsx';
import { navigation } from './navigation-items.ts';
import { useProjectContext } from './project-context.tsx';
import { useTheme } from './theme.ts';

interface CommandPaletteProps {
  readonly onClose: () => void;
  readonly onShortcuts: () => void;
}

/** Finds pages, imports, transformations, projects and general commands by name, and searches persons and events. */
export function CommandPalette({ onClose, onShortcuts }: CommandPaletteProps) {
  const { project, projects } = useProjectContext();
  const [typed, setTyped] = useState('');
  const imports = useQuery(configsQuery(project.id, 'import_app')).data?.results ?? [];
  const transformations = useQuery(configsQuery(project.id, 'transformation')).data?.results ?? [];
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
          <Command label="Search pages and commands" loop filter={score}>
            <Command.Input
              autoFocus
              value={typed}
              onValueChange={setTyped}
              placeholder="Go to a page, import, transformation, person or event"
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
              <Command.Group heading="Imports">
                {imports.map(({ id, name }) => (
                  <Row
                    key={id}
                    icon={ArrowDownToLine}
                    label={name}
                    value={`import ${id} ${name}`}
                    onSelect={run(
                      () =>
                        void navigate({
                          to: '/projects/$projectId/imports/$configId',
                          params: { ...params, configId: String(id) },
                        }),
                    )}
                  />
                ))}
              </Command.Group>
              <Command.Group heading="Transformations">
                {transformations.map(({ id, name }) => (
                  <Row
                    key={id}
                    icon={Workflow}
                    label={name}
                    value={`transformation ${id} ${name}`}
                    onSelect={run(
                      () =>
                        void navigate({
                          to: '/projects/$projectId/transformations/$configId',
                          params: { ...params, configId: String(id) },
                        }),
                    )}
                  />
                ))}
              </Command.Group>
              {typed.trim() !== '' && (
                <Command.Group heading="Search">
                  <Row
                    icon={Users}
                    label={`Persons matching “${typed.trim()}”`}
                    value={`search persons ${typed}`}
                    onSelect={run(
                      () => void navigate({ to: '/projects/$projectId/persons', params, search: { q: typed.trim() } }),
                    )}
                  />
                  <Row
                    icon={List}
                    label={`Events named “${typed.trim()}”`}
                    value={`search events ${typed}`}
                    onSelect={run(
                      () =>
                        void navigate({ to: '/projects/$projectId/events', params, search: { event: typed.trim() } }),
                    )}
                  />
                </Command.Group>
              )}
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

/** Ranks the search for persons and events, which always matches, below everything found by name. */
function score(value: string, search: string, keywords?: string[]): number {
  return value.startsWith('search ') ? 0.000_1 : defaultFilter(value, search, keywords);
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
