import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UnsavedGuard } from '../../components/unsaved-guard.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { changeProject } from './project-change.ts';

/** Name and time zone. */
export function GeneralSection() {
  const project = useProject();
  const mayChange = useMay('editor');
  const client = useQueryClient();
  const toast = useToast();
  const [name, setName] = useState(project.name);
  const [timezone, setTimezone] = useState(project.timezone);
  const save = useMutation({
    mutationFn: () => changeProject(project.id, { name: name.trim(), timezone }),
    onSuccess: async () => {
      await refresh(client, '/api/projects');
      toast.done('Saved.');
    },
  });
  const dirty = name !== project.name || timezone !== project.timezone;
  return (
    <Section title="General">
      <UnsavedGuard dirty={dirty && !save.isPending} />
      <form
        className="flex max-w-xl flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextInput label="Name" value={name} onChange={setName} maxLength={200} required disabled={!mayChange} />
        <Select
          label="Time zone"
          hint="Of all times in the console, and of days in charts."
          value={timezone}
          choices={zonesWith(timezone)}
          onChange={setTimezone}
          disabled={!mayChange}
        />
        <ErrorNote error={save.error} />
        {mayChange && (
          <div>
            <Button kind="primary" type="submit" busy={save.isPending} disabled={!dirty || name.trim() === ''}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Section>
  );
}

/** The zones that the browser knows, and the one that is chosen. */
function zonesWith(chosen: string): { readonly value: string; readonly label: string }[] {
  const zones = new Set(['UTC', chosen, ...Intl.supportedValuesOf('timeZone')]);
  return [...zones].map((value) => ({ value, label: value }));
}
