import { Link } from '@tanstack/react-router';
import { classNames } from '../components/class-names.ts';
import { navigation } from './navigation-items.ts';

interface NavigationProps {
  readonly projectId: number;
  /** Icons only. */
  readonly narrow: boolean;
  readonly onNavigate?: () => void;
}

/** Links to the pages of a project; belongs inside a nav element. */
export function Navigation({ projectId, narrow, onNavigate }: NavigationProps) {
  return (
    <div className="flex flex-col gap-4 overflow-y-auto px-2 py-3">
      {navigation.map((group) => (
        <div key={group.label}>
          <p className={classNames('px-2 pb-1 text-xs font-medium text-faint', narrow && 'sr-only')}>{group.label}</p>
          <ul className="flex flex-col gap-0.5">
            {group.items.map(({ to, label, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  params={{ projectId: String(projectId) }}
                  onClick={onNavigate}
                  title={narrow ? label : undefined}
                  className="flex h-8 items-center gap-2.5 rounded-md px-2 text-sm text-soft hover:bg-hover hover:text-ink"
                  activeProps={{ className: 'bg-accent-soft font-medium text-accent!' }}
                >
                  <Icon aria-hidden="true" className="size-4 shrink-0" />
                  <span className={classNames(narrow && 'sr-only')}>{label}</span>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}
