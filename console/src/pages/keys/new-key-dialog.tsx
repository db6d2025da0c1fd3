import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { scopeObjects } from '../../../../src/wire/contract/scopes.ts';
import { projectsQuery } from '../../api/projects.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { BareSelect, type Choice, Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { expiryOf, lifetimesOf } from './key-lifetimes.ts';
import { type Access, accessesOf, objects, presets, scopesOf } from './key-scopes.ts';
import { createKey, keyPolicyQuery, keysPath, type KeyWithValue } from './keys-query.ts';

interface NewKeyDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onCreated: (key: KeyWithValue) => void;
}

/** Mounts the form when opened, so that it always starts empty. */
export function NewKeyDialog({ open, onClose, onCreated }: NewKeyDialogProps) {
  const { data, error } = useQuery({ ...keyPolicyQuery, enabled: open });
  if (!open) return null;
  if (data === undefined && error === null) return null;
  // Without the policy the API refuses what it does not permit.
  return <NewKeyForm daysMax={data?.key_days_max ?? null} onClose={onClose} onCreated={onCreated} />;
}

interface NewKeyFormProps extends Omit<NewKeyDialogProps, 'open'> {
  /** Days within which the key must expire; `null` for no limit. */
  readonly daysMax: number | null;
}

function NewKeyForm({ daysMax, onClose, onCreated }: NewKeyFormProps) {
  const client = useQueryClient();
  const [label, setLabel] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(presets[0].scopes);
  const [teams, setTeams] = useState<readonly number[]>([]);
  const [lifetime, setLifetime] = useState(lifetimesOf(daysMax)[0]?.value ?? 'never');
  const create = useMutation({
    mutationFn: () =>
      createKey({
        label: label.trim(),
        scopes,
        scoped_teams: teams.length === 0 ? null : teams,
        expires_at: expiryOf(lifetime, Date.now()),
      }),
    onSuccess: async (key) => {
      onCreated(key);
      await refresh(client, keysPath);
    },
  });
  const submit = (): void => {
    if (label.trim() !== '' && scopes.length > 0) create.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="New personal API key"
      description="For the command line and your programs. A key never has more permissions than you."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={create.isPending}
            disabled={label.trim() === '' || scopes.length === 0}
            onClick={submit}
          >
            Create key
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextInput
          label="Name"
          value={label}
          onChange={setLabel}
          maxLength={40}
          required
          placeholder="Nightly import"
        />
        <ScopePicker scopes={scopes} onChange={setScopes} />
        <ProjectLimit teams={teams} onChange={setTeams} />
        <LifetimeSelect daysMax={daysMax} value={lifetime} onChange={setLifetime} />
        <ErrorNote error={create.error} />
      </form>
    </Dialog>
  );
}

interface LifetimeSelectProps {
  readonly daysMax: number | null;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function LifetimeSelect({ daysMax, value, onChange }: LifetimeSelectProps) {
  const hint = daysMax === null ? undefined : `Keys of this service expire within ${daysMax} days.`;
  return <Select label="Expires" hint={hint} value={value} choices={lifetimesOf(daysMax)} onChange={onChange} />;
}

interface ProjectLimitProps {
  readonly teams: readonly number[];
  readonly onChange: (teams: readonly number[]) => void;
}

/** Limits the key to projects; hidden if there is only one. */
function ProjectLimit({ teams, onChange }: ProjectLimitProps) {
  const { data } = useQuery(projectsQuery);
  const projects = data?.results ?? [];
  if (projects.length < 2) return null;
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="pb-1 text-sm font-medium">Projects</legend>
      <p className="text-xs text-soft">Leave empty for all projects of the organisation, including future ones.</p>
      {projects.map(({ id, name }) => (
        <Checkbox
          key={id}
          label={<UserText text={name} />}
          checked={teams.includes(id)}
          onChange={(checked) => onChange(checked ? [...teams, id] : teams.filter((each) => each !== id))}
        />
      ))}
    </fieldset>
  );
}

interface ScopePickerProps {
  readonly scopes: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}

const choices: readonly Choice<Access>[] = [
  { value: 'none', label: 'No access' },
  { value: 'read', label: 'Read' },
  { value: 'write', label: 'Read and write' },
];

/** Selects a preset, or the access to each type of object. */
function ScopePicker({ scopes, onChange }: ScopePickerProps) {
  const isAll = scopes.includes('*');
  const accesses = accessesOf(scopes);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="pb-1 text-sm font-medium">Scopes</legend>
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        {presets.map((preset) => (
          <PresetButton
            key={preset.name}
            name={preset.name}
            hint={preset.hint}
            chosen={isSame(preset.scopes, scopes)}
            onChoose={() => onChange(preset.scopes)}
          />
        ))}
        <PresetButton
          name="Custom"
          hint="Start without access and select scopes below."
          chosen={!presets.some((preset) => isSame(preset.scopes, scopes))}
          onChoose={() => onChange([])}
        />
      </div>
      {!isAll && (
        <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
          {objects.map((object) => (
            <li key={object} className="flex items-center justify-between gap-3 px-3 py-1.5">
              <span className="min-w-0 text-sm">
                {scopeObjects[object]} <code className="text-xs text-soft">{object}</code>
              </span>
              <span className="w-36 shrink-0">
                <BareSelect
                  aria-label={`Access to ${object}`}
                  value={accesses[object]}
                  choices={choices}
                  onChange={(access) => onChange(scopesOf({ ...accesses, [object]: access }))}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

interface PresetButtonProps {
  readonly name: string;
  readonly hint: string;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

function PresetButton({ name, hint, chosen, onChoose }: PresetButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={chosen}
      onClick={onChoose}
      className="rounded-md border border-line px-3 py-2 text-left hover:bg-hover aria-pressed:border-accent aria-pressed:bg-hover"
    >
      <span className="block text-sm font-medium">{name}</span>
      <span className="block text-xs text-soft">{hint}</span>
    </button>
  );
}

function isSame(preset: readonly string[], scopes: readonly string[]): boolean {
  return preset.length === scopes.length && preset.every((scope) => scopes.includes(scope));
}
