import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Select } from '../../components/select.tsx';
import { transformationsQuery } from './imports-query.ts';

interface TransformSelectProps {
  readonly projectId: number;
  /** The setting `transform`: the id of a config, empty for none. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A transformation through which each event goes before the check; its code says what rules cannot. */
export function TransformSelect({ projectId, value, onChange }: TransformSelectProps) {
  const chain = useQuery(transformationsQuery(projectId));
  const configs = chain.data?.results ?? [];
  const choices = [
    { value: '', label: 'None' },
    ...configs.map(({ id, name, enabled }) => ({
      value: String(id),
      label: `${name.slice(0, 60)} (${id})${enabled ? ', switched on' : ''}`,
    })),
  ];
  const listed = choices.some((each) => each.value === value) ? choices : [...choices, { value, label: value }];
  const chosen = configs.find(({ id }) => String(id) === value);
  return (
    <Select
      label="Transform in code"
      value={value}
      choices={listed}
      onChange={onChange}
      error={
        chosen?.enabled === true
          ? 'It is switched on: events of this import would go through it twice. Switch it off, or take another.'
          : undefined
      }
      hint={
        <>
          Each event goes through it before the check: what it makes is compared. It need not be switched on.{' '}
          <Link
            to="/projects/$projectId/transformations"
            params={{ projectId: String(projectId) }}
            search={{ add: 'code' }}
            className="underline"
          >
            Write one
          </Link>
        </>
      }
    />
  );
}
