import {
  Activity,
  ArrowDownToLine,
  ArrowUpFromLine,
  Boxes,
  ChartColumn,
  ClipboardCheck,
  Eraser,
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

interface NavigationItem {
  readonly to: `/projects/$projectId/${string}`;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Additional search terms for the command palette. */
  readonly keywords?: string;
}

interface NavigationGroup {
  readonly label: string;
  readonly items: readonly NavigationItem[];
}

export const navigation = [
  {
    label: 'Flow',
    items: [
      { to: '/projects/$projectId/home', label: 'Home', icon: House, keywords: 'start overview' },
      { to: '/projects/$projectId/live', label: 'Live', icon: Activity, keywords: 'stream tail debugger' },
      {
        to: '/projects/$projectId/transformations',
        label: 'Transformations',
        icon: Workflow,
        keywords: 'plugins steps',
      },
      {
        to: '/projects/$projectId/tracking-plan',
        label: 'Tracking plan',
        icon: ClipboardCheck,
        keywords: 'schema events properties violations',
      },
      {
        to: '/projects/$projectId/imports',
        label: 'Imports',
        icon: ArrowDownToLine,
        keywords: 'history sources migrate',
      },
    ],
  },
  {
    label: 'Data',
    items: [
      { to: '/projects/$projectId/events', label: 'Events', icon: List, keywords: 'explorer search' },
      { to: '/projects/$projectId/persons', label: 'Persons', icon: Users, keywords: 'people users profiles' },
      { to: '/projects/$projectId/groups', label: 'Groups', icon: Boxes, keywords: 'companies accounts' },
      {
        to: '/projects/$projectId/exports',
        label: 'Exports',
        icon: ArrowUpFromLine,
        keywords: 'download parquet csv bucket',
      },
    ],
  },
  {
    label: 'Attention',
    items: [
      { to: '/projects/$projectId/warnings', label: 'Warnings', icon: TriangleAlert, keywords: 'ingestion problems' },
      { to: '/projects/$projectId/dead-letters', label: 'Dead letters', icon: MailX, keywords: 'failed replay' },
    ],
  },
  {
    label: 'Manage',
    items: [
      { to: '/projects/$projectId/activity', label: 'Activity', icon: FileClock, keywords: 'audit log history' },
      { to: '/projects/$projectId/usage', label: 'Usage', icon: ChartColumn, keywords: 'volume events' },
      {
        to: '/projects/$projectId/agreements',
        label: 'Agreements',
        icon: Handshake,
        keywords: 'historical migrations',
      },
      { to: '/projects/$projectId/erasures', label: 'Erasures', icon: Eraser, keywords: 'delete gdpr privacy' },
      { to: '/projects/$projectId/keys', label: 'Keys', icon: KeyRound, keywords: 'api tokens scopes' },
      { to: '/projects/$projectId/settings', label: 'Settings', icon: Settings, keywords: 'project timezone name' },
      { to: '/projects/$projectId/users', label: 'Users', icon: UserCog, keywords: 'people roles sessions' },
      { to: '/projects/$projectId/status', label: 'Status', icon: Gauge, keywords: 'health backlog lag disk' },
    ],
  },
] as const satisfies readonly NavigationGroup[];
