import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { useAnnounce } from '../../components/announcer.tsx';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { SchemaForm } from '../../components/schema-form.tsx';
import {
  missingSettings,
  readSchema,
  settingErrors,
  settingsBody,
  type SettingErrors,
} from '../../components/schema-values.ts';
import { Section } from '../../components/section.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { EventFilterSection, withoutFilter } from './event-filter-section.tsx';
import {
  change,
  pluginInfo,
  transformationPath,
  transformationsPath,
  type Transformation,
} from './transformation-queries.ts';
import type { Draft } from './use-draft.ts';

interface SettingsTabProps {
  readonly config: Transformation;
  readonly draft: Draft;
}

/** Settings, filter and name. */
export function SettingsTab({ config, draft }: SettingsTabProps) {
  const canEdit = useHasRole('editor');
  const announce = useAnnounce();
  const schema = useMemo(() => readSchema(pluginInfo(config).configSchema), [config]);
  const own = useMemo(() => withoutFilter(schema), [schema]);
  const [missing, setMissing] = useState<SettingErrors>({});
  const save = useSave(config, draft);
  const errors = { ...missing, ...settingErrors(save.error) };
  const submit = (): void => {
    const found = missingSettings(schema, draft.values);
    const count = Object.keys(found).length;
    setMissing(found);
    save.reset();
    if (count > 0) announce(`${count} required settings are missing.`);
    else if (draft.dirty) save.mutate();
  };
  return (
    <form
      noValidate
      className="flex max-w-3xl flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Section title="Settings">
        {own.length === 0 ? (
          <p className="text-soft">No settings.</p>
        ) : (
          <SchemaForm
            schema={own}
            values={draft.values}
            stored={draft.stored}
            onChange={(values) => draft.set({ values })}
            errors={errors}
            disabled={!canEdit}
          />
        )}
      </Section>
      <EventFilterSection
        schema={schema}
        values={draft.values}
        onChange={(values) => draft.set({ values })}
        errors={errors}
        disabled={!canEdit}
      />
      <Section title="Name">
        <div className="flex flex-col gap-4">
          <TextInput
            label="Name"
            value={draft.name}
            onChange={(name) => draft.set({ name })}
            maxLength={400}
            disabled={!canEdit}
          />
          <TextArea
            label="Description"
            value={draft.description}
            onChange={(description) => draft.set({ description })}
            rows={2}
            maxLength={1000}
            disabled={!canEdit}
          />
        </div>
      </Section>
      {Object.keys(settingErrors(save.error)).length === 0 && <ErrorNote error={save.error} />}
      {canEdit && <SaveBar draft={draft} busy={save.isPending} hasErrors={Object.keys(errors).length > 0} />}
    </form>
  );
}

interface SaveBarProps {
  readonly draft: Draft;
  readonly busy: boolean;
  readonly hasErrors: boolean;
}

function SaveBar({ draft, busy, hasErrors }: SaveBarProps) {
  return (
    <div className="sticky bottom-0 flex flex-wrap items-center gap-2 border-t border-line bg-page py-3">
      <Button kind="primary" type="submit" busy={busy} disabled={!draft.dirty && !hasErrors}>
        Save
      </Button>
      <Button onClick={draft.discard} disabled={!draft.dirty || busy}>
        Discard changes
      </Button>
      <p role="status" className="text-xs text-soft">
        {hasErrors ? 'Some settings are invalid. See the fields above.' : draft.dirty ? 'Unsaved changes.' : ''}
      </p>
    </div>
  );
}

function useSave(config: Transformation, draft: Draft) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: async () => {
      const path = transformationPath(projectId, config.id);
      if (Object.keys(draft.changed).length > 0) {
        await request(`${path}/settings`, { method: 'PATCH', body: settingsBody(draft.changed) });
      }
      const { name, description } = draft;
      if (name !== config.name || description !== config.description) {
        await change(projectId, config.id, { name, description });
      }
    },
    onSuccess: async () => {
      await refresh(client, transformationsPath(projectId));
      draft.discard();
      toast.done('Saved. The changes apply to new events.');
    },
  });
}
