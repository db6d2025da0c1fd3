import { useMutation } from '@tanstack/react-query';
import { CircleUser, LogOut, MonitorX } from 'lucide-react';
import type { Me } from '../api/me.ts';
import { request } from '../api/request.ts';
import { IconButton } from '../components/icon-button.tsx';
import { Menu } from '../components/menu.tsx';
import { useToast } from '../components/toasts.tsx';
import { UserText } from '../components/user-text.tsx';
import { signOut } from './sign-in.ts';

export function UserMenu({ me }: { readonly me: Me }) {
  const toast = useToast();
  const leave = useMutation({
    mutationFn: async (everywhere: boolean) => {
      if (everywhere) await request('/api/users/@me/sessions', { method: 'DELETE' });
      else await signOut();
    },
    onSuccess: () => location.assign('/console/'),
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
