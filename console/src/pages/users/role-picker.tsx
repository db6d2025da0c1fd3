import { useId } from 'react';
import { roleMeanings, roles, type Role } from '../../../../src/wire/contract/roles.ts';

interface RolePickerProps {
  readonly role: Role;
  readonly onChange: (role: Role) => void;
}

/** Selects a role, with a description of each. */
export function RolePicker({ role, onChange }: RolePickerProps) {
  const id = useId();
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1 text-sm font-medium">Role</legend>
      {roles.map((each) => (
        <div key={each} className="flex items-start gap-2">
          <input
            id={`${id}-${each}`}
            type="radio"
            name={id}
            checked={role === each}
            onChange={() => onChange(each)}
            aria-describedby={`${id}-${each}-meaning`}
            className="mt-0.5 size-4 shrink-0 accent-accent"
          />
          <div className="min-w-0">
            <label htmlFor={`${id}-${each}`} className="text-sm font-medium">
              {each}
            </label>
            <p id={`${id}-${each}-meaning`} className="text-xs text-soft">
              {roleMeanings[each]}
            </p>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
