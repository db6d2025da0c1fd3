import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { SessionRecord } from '../../../../src/wire/contract/sessions.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { endMySessions, endSession, mySessionsPath, mySessionsQuery } from './users-query.ts';

/** Sessions to end, pending confirmation. */
type Ending = 'others' | 'all' | SessionRecord;

/** The sessions of the signed-in user. */
export function SessionsSection() {
  const sessions = useQuery(mySessionsQuery);
  const [ending, setEnding] = useState<Ending>();
  const columns = useMemo(() => columnsOf(setEnding), []);
  const others = sessions.data?.filter((session) => !session.is_current).length ?? 0;
  return (
    <section aria-labelledby="sessions" className="flex flex-col gap-3 pt-6">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <div>
          <h2 id="sessions" className="text-base font-semibold">
            Your sessions
          </h2>
          <p className="text-soft">Browsers in which you are signed in.</p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Button disabled={others === 0} onClick={() => setEnding('others')}>
            End all other sessions
          </Button>
          <Button kind="danger" onClick={() => setEnding('all')}>
            Sign out everywhere
          </Button>
        </div>
      </div>
      <DataTable
        label="Browsers"
        columns={columns}
        rows={sessions.data}
        rowId={(row) => row.id}
        error={sessions.error}
        onRetry={() => void sessions.refetch()}
        empty={<EmptyState title="No sessions">You are using an API key, not a browser session.</EmptyState>}
      />
      <EndDialog ending={ending} onClose={() => setEnding(undefined)} />
    </section>
  );
}

function EndDialog({ ending, onClose }: { readonly ending: Ending | undefined; readonly onClose: () => void }) {
  const client = useQueryClient();
  const toast = useToast();
  const end = useMutation({
    mutationFn: carryOut,
    onSuccess: async (_answer, ended) => {
      onClose();
      if (endsCurrent(ended)) location.reload();
      else {
        toast.done(ended === 'others' ? 'All other sessions ended.' : 'Session ended.');
        await refresh(client, mySessionsPath);
      }
    },
  });
  if (ending === undefined) return null;
  const close = (): void => {
    end.reset();
    onClose();
  };
  return (
    <ConfirmDialog
      open
      onClose={close}
      onConfirm={() => end.mutate(ending)}
      title={titleOf(ending)}
      confirm={ending === 'all' ? 'Sign out' : 'End'}
      busy={end.isPending}
      error={end.error}
    >
      <p>
        {endsCurrent(ending)
          ? 'This signs you out here as well. To sign in again you need the provider, a key or a new one-time link.'
          : 'This requires a new sign-in there. This browser stays signed in.'}
      </p>
    </ConfirmDialog>
  );
}

async function carryOut(ending: Ending): Promise<void> {
  if (ending === 'all' || ending === 'others') await endMySessions({ keepCurrent: ending === 'others' });
  else await endSession(ending.id);
}

function endsCurrent(ending: Ending): boolean {
  return ending === 'all' || (ending !== 'others' && ending.is_current);
}

function titleOf(ending: Ending): string {
  if (ending === 'all') return 'Sign out everywhere?';
  return ending === 'others' ? 'End all other sessions?' : 'End this session?';
}

const methods: Readonly<Record<SessionRecord['opened_by'], string>> = { link: 'link', key: 'key', oidc: 'provider' };

function columnsOf(end: (session: SessionRecord) => void): readonly Column<SessionRecord>[] {
  return [
    {
      id: 'browser',
      header: 'Browser',
      cell: (row) => (
        <span className="flex flex-wrap items-center gap-2">
          <UserText text={row.browser === '' ? 'unknown browser' : row.browser} charsMax={80} short />
          {row.is_current && <StatusBadge tone="ok">current</StatusBadge>}
        </span>
      ),
    },
    {
      id: 'address',
      header: 'Signed in from',
      width: '11rem',
      cell: (row) => <UserText text={row.address === '' ? '–' : row.address} charsMax={60} short />,
    },
    { id: 'opened', header: 'Method', width: '6rem', cell: (row) => methods[row.opened_by] },
    {
      id: 'used',
      header: 'Last used',
      width: '8rem',
      sortBy: (row) => row.last_used_at,
      cell: (row) => <TimeText time={row.last_used_at ?? row.created_at} form="ago" />,
    },
    {
      id: 'expires',
      header: 'Expires',
      width: '11rem',
      sortBy: (row) => row.expires_at,
      cell: (row) => <TimeText time={row.expires_at} />,
    },
    {
      id: 'end',
      header: <span className="sr-only">End</span>,
      width: '5rem',
      cell: (row) => (
        <Button size="small" onClick={() => end(row)}>
          End
        </Button>
      ),
    },
  ];
}
