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

/** Closes the palette, then runs the command. */
type Run = (action: () => void) => () => void;

interface GroupProps {
  readonly projectId: number;
  readonly run: Run;
}

/** Finds pages, imports, transformations, projects and general commands by name, and searches persons and events. */
export function CommandPalette({ onClose, onShortcuts }: CommandPaletteProps) {
  const { project } = useProjectContext();
  const [typed, setTyped] = useState('');
  const run: Run = (action) => () => {
    onClose();
    action();
  };
  const group = { projectId: project.id, run };
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
              <Pages {...group} />
              <Configs {...group} heading="Imports" icon={ArrowDownToLine} family="import_app" />
              <Configs {...group} heading="Transformations" icon={Workflow} family="transformation" />
              {typed.trim() !== '' && <Searches {...group} text={typed.trim()} />}
              <Projects run={run} />
              <General run={run} onShortcuts={onShortcuts} />
            </Command.List>
          </Command>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Pages({ projectId, run }: GroupProps) {
  const navigate = useNavigate();
  return (
    <Command.Group heading="Pages">
      {navigation.flatMap(({ items }) =>
        items.map(({ to, icon, label, keywords }) => (
          <Row
            key={to}
            icon={icon}
            label={label}
            keywords={keywords}
            onSelect={run(() => void navigate({ to, params: { projectId: String(projectId) } }))}
          />
        )),
      )}
    </Command.Group>
  );
}

const configPages = {
  import_app: '/projects/$projectId/imports/$configId',
  transformation: '/projects/$projectId/transformations/$configId',
} as const;

interface ConfigsProps extends GroupProps {
  readonly heading: string;
  readonly icon: LucideIcon;
  readonly family: keyof typeof configPages;
}

function Configs({ projectId, run, heading, icon, family }: ConfigsProps) {
  const navigate = useNavigate();
  const { data } = useQuery(configsQuery(projectId, family));
  return (
    <Command.Group heading={heading}>
      {data?.results.map(({ id, name }) => (
        <Row
          key={id}
          icon={icon}
          label={name}
          value={`${family} ${id} ${name}`}
          onSelect={run(() => {
            void navigate({ to: configPages[family], params: { projectId: String(projectId), configId: String(id) } });
          })}
        />
      ))}
    </Command.Group>
  );
}

function Searches({ projectId, run, text }: GroupProps & { readonly text: string }) {
  const navigate = useNavigate();
  const params = { projectId: String(projectId) };
  return (
    <Command.Group heading="Search">
      <Row
        icon={Users}
        label={`Persons matching “${text}”`}
        value={`search persons ${text}`}
        onSelect={run(() => void navigate({ to: '/projects/$projectId/persons', params, search: { q: text } }))}
      />
      <Row
        icon={List}
        label={`Events named “${text}”`}
        value={`search events ${text}`}
        onSelect={run(() => void navigate({ to: '/projects/$projectId/events', params, search: { event: text } }))}
      />
    </Command.Group>
  );
}

function Projects({ run }: Pick<GroupProps, 'run'>) {
  const { projects } = useProjectContext();
  const navigate = useNavigate();
  return (
    <Command.Group heading="Projects">
      {projects.map(({ id, name }) => (
        <Row
          key={id}
          icon={FolderOpen}
          label={name}
          value={`project ${id} ${name}`}
          onSelect={run(() => {
            void navigate({ to: '/projects/$projectId/home', params: { projectId: String(id) } });
          })}
        />
      ))}
    </Command.Group>
  );
}

function General({ run, onShortcuts }: Pick<GroupProps, 'run'> & { readonly onShortcuts: () => void }) {
  const [, chooseTheme] = useTheme();
  return (
    <Command.Group heading="General">
      <Row icon={Sun} label="Light theme" onSelect={run(() => chooseTheme('light'))} />
      <Row icon={Moon} label="Dark theme" onSelect={run(() => chooseTheme('dark'))} />
      <Row icon={Monitor} label="System theme" onSelect={run(() => chooseTheme('system'))} />
      <Row icon={Keyboard} label="Keyboard shortcuts" onSelect={onShortcuts} />
      <Row icon={BookOpen} label="API reference" onSelect={run(() => window.open('/api/docs', '_blank', 'noopener'))} />
    </Command.Group>
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
