import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useMay, useProjectContext } from '../../shell/project-context.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { SessionsSection } from './sessions-section.tsx';
import { SignInLinkDialog } from './sign-in-link-dialog.tsx';
import { UserDeedDialog, type AskedDeed } from './user-deed-dialog.tsx';
import { userColumns } from './user-columns.tsx';
import { usersQuery } from '../../api/users.ts';
import type { IssuedLink } from './users-query.ts';

const route = getRouteApi('/projects/$projectId/users');

/** Who may come in and what each may do; below, where the user is signed in. */
export function UsersPage() {
  const { invite = false } = route.useSearch();
  const navigate = route.useNavigate();
  const isAdmin = useMay('admin');
  const { me } = useProjectContext();
  const users = useQuery(usersQuery);
  const [issued, setIssued] = useState<IssuedLink>();
  const [asked, setAsked] = useState<AskedDeed>();
  const columns = useMemo(() => userColumns(me.id, isAdmin ? setAsked : undefined), [me.id, isAdmin]);
  const openForm = (open: boolean): void => void navigate({ search: open ? { invite: true } : {} });
  return (
    <>
      <PageHeader
        title="Users"
        description="Who may sign in to this organisation, and what each may do. Roles hold for every project."
        actions={
          isAdmin && (
            <Button kind="primary" icon={<Plus aria-hidden="true" className="size-4" />} onClick={() => openForm(true)}>
              Invite user
            </Button>
          )
        }
      />
      <DataTable
        label="Users"
        columns={columns}
        rows={users.data}
        rowId={(row) => String(row.id)}
        error={users.error}
        onRetry={() => void users.refetch()}
        empty={<EmptyState title="No users">Invite somebody with the button above.</EmptyState>}
      />
      <SessionsSection />
      <InviteDialog
        open={invite && isAdmin}
        onClose={() => openForm(false)}
        onInvited={(link) => {
          setIssued(link);
          openForm(false);
        }}
      />
      <UserDeedDialog asked={asked} onClose={() => setAsked(undefined)} onLink={setIssued} />
      <SignInLinkDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}
