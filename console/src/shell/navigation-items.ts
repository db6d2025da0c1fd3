import {
  Activity,
  ArrowDownToLine,
  Boxes,
  ChartColumn,
  FileClock,
  Gauge,
  Handshake,
  House,
  KeyRound,
  List,
  MailX,
  Settings,
  TriangleAlert,
  UserCog,
  Users,
  Workflow,
  type LucideIcon,
} from 'lucide-react';

export interface NavigationItem {
  readonly to: `/projects/$projectId/${string}`;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Other words that the command palette finds it by. */
  readonly words?: string;
}

export interface NavigationGroup {
  readonly label: string;
  readonly items: readonly NavigationItem[];
}

export const navigation = [
  {
    label: 'Flow',
    items: [
      { to: '/projects/$projectId/home', label: 'Home', icon: House, words: 'start overview' },
      { to: '/projects/$projectId/live', label: 'Live', icon: Activity, words: 'stream tail debugger' },
      { to: '/projects/$projectId/transformations', label: 'Transformations', icon: Workflow, words: 'plugins steps' },
      { to: '/projects/$projectId/imports', label: 'Imports', icon: ArrowDownToLine, words: 'history sources migrate' },
    ],
  },
  {
    label: 'Data',
    items: [
      { to: '/projects/$projectId/events', label: 'Events', icon: List, words: 'explorer search' },
      { to: '/projects/$projectId/persons', label: 'Persons', icon: Users, words: 'people users profiles' },
      { to: '/projects/$projectId/groups', label: 'Groups', icon: Boxes, words: 'companies accounts' },
    ],
  },
  {
    label: 'Attention',
    items: [
      { to: '/projects/$projectId/warnings', label: 'Warnings', icon: TriangleAlert, words: 'ingestion problems' },
      { to: '/projects/$projectId/dead-letters', label: 'Dead letters', icon: MailX, words: 'failed replay' },
    ],
  },
  {
    label: 'Manage',
    items: [
      { to: '/projects/$projectId/activity', label: 'Activity', icon: FileClock, words: 'audit log history' },
      { to: '/projects/$projectId/usage', label: 'Usage', icon: ChartColumn, words: 'volume events' },
      { to: '/projects/$projectId/agreements', label: 'Agreements', icon: Handshake, words: 'historical migrations' },
      { to: '/projects/$projectId/keys', label: 'Keys', icon: KeyRound, words: 'api tokens scopes' },
      { to: '/projects/$projectId/settings', label: 'Settings', icon: Settings, words: 'project timezone name' },
      { to: '/projects/$projectId/users', label: 'Users', icon: UserCog, words: 'people roles sessions' },
      { to: '/projects/$projectId/status', label: 'Status', icon: Gauge, words: 'health backlog lag disk' },
    ],
  },
] as const satisfies readonly NavigationGroup[];

export type NavigationTarget = (typeof navigation)[number]['items'][number]['to'];
