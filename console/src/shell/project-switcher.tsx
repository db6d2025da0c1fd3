import { useNavigate } from '@tanstack/react-router';
import { Check, ChevronsUpDown } from 'lucide-react';
import { Button } from '../components/button.tsx';
import { Menu } from '../components/menu.tsx';
import { UserText } from '../components/user-text.tsx';
import { useProjectContext } from './project-context.tsx';

/** Leads to the home of another project. */
export function ProjectSwitcher() {
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
