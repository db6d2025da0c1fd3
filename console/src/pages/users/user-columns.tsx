import { Ellipsis } from 'lucide-react';
import { roleMeanings } from '../../../../src/wire/contract/roles.ts';
import type { UserRecord } from '../../../../src/wire/contract/users.ts';
import type { Column } from '../../components/data-table.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu, type MenuEntry } from '../../components/menu.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { userName } from '../../api/user-name.ts';
import type { AskedDeed, Deed } from './user-deed-dialog.tsx';

/** @param ask undefined: the user may only look */
export function userColumns(
  myId: number,
  ask: ((asked: AskedDeed) => void) | undefined,
): readonly Column<UserRecord>[] {
  const shown: readonly Column<UserRecord>[] = [
    {
      id: 'user',
      header: 'User',
      sortBy: (row) => userName(row).toLowerCase(),
      cell: (row) => <WhoCell user={row} isMe={row.id === myId} />,
    },
    {
      id: 'role',
      header: 'Role',
      width: '6rem',
      sortBy: (row) => row.role,
      cell: (row) => <span title={roleMeanings[row.role]}>{row.role}</span>,
    },
    {
      id: 'state',
      header: 'State',
      width: '7rem',
      sortBy: (row) => (row.is_active ? 0 : 1),
      cell: (row) => (
        <StatusBadge tone={row.is_active ? 'ok' : 'danger'}>{row.is_active ? 'active' : 'shut out'}</StatusBadge>
      ),
    },
    {
      id: 'seen',
      header: 'Last seen',
      width: '8rem',
      sortBy: (row) => row.last_seen_at,
      cell: (row) => <TimeText time={row.last_seen_at} form="ago" />,
    },
    {
      id: 'sessions',
      header: 'Sessions',
      width: '6rem',
      align: 'end',
      sortBy: (row) => row.sessions,
      cell: (row) => <NumberText value={row.sessions} />,
    },
    {
      id: 'keys',
      header: 'Keys',
      width: '5rem',
      align: 'end',
      sortBy: (row) => row.personal_api_keys,
      cell: (row) => <NumberText value={row.personal_api_keys} />,
    },
  ];
  return ask === undefined ? shown : [...shown, actionsColumn(myId, ask)];
}

function WhoCell({ user, isMe }: { readonly user: UserRecord; readonly isMe: boolean }) {
  return (
    <>
      <span className="font-medium">
        <UserText text={userName(user)} charsMax={80} short />
      </span>
      {isMe && <span className="text-soft"> (you)</span>}
      {user.first_name !== '' && user.email !== '' && (
        <span className="block text-xs text-soft">
          <UserText text={user.email} charsMax={80} short />
        </span>
      )}
    </>
  );
}

function actionsColumn(myId: number, ask: (asked: AskedDeed) => void): Column<UserRecord> {
  return {
    id: 'actions',
    header: <span className="sr-only">Actions</span>,
    width: '3.5rem',
    cell: (user) => {
      const entry = (label: string, deed: Deed, danger = false): MenuEntry => ({
        label,
        danger,
        onSelect: () => ask({ deed, user }),
      });
      return (
        <Menu
          trigger={
            <IconButton
              label={`Actions of ${userName(user)}`}
              size="small"
              icon={<Ellipsis aria-hidden="true" className="size-4" />}
            />
          }
          groups={[
            [entry('Change role', 'role'), ...(user.is_active ? [entry('New one-time link', 'link')] : [])],
            // Oneself: by the sessions below; an admin who shuts out or deletes oneself could not come back.
            user.id === myId
              ? []
              : [
                  entry('Sign out everywhere', 'sign_out'),
                  user.is_active ? entry('Shut out', 'shut_out', true) : entry('Let in again', 'let_in'),
                  entry('Delete', 'delete', true),
                ],
          ]}
        />
      );
    },
  };
}
