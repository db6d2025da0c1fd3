import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import type { SettingValues } from '../../components/schema-values.ts';
import { ChosenPart } from './chosen-part.tsx';
import { configPath } from './imports-query.ts';
import { FormatSection } from './format-section.tsx';
import { openMapping } from './mapping-rules.ts';
import { PreviewRecords } from './preview-records.tsx';
import { useDraft } from './use-draft.ts';
import { WizardFooter } from './wizard-footer.tsx';
import { useRecognised } from './use-recognised.ts';
import { changeSettings, readPreview } from './wizard-query.ts';

interface PreviewStepProps {
  readonly projectId: number;
  readonly configId: number;
  /** Formats that the source allows; empty: it has one of its own. */
  readonly choices: readonly string[];
  readonly stored: SettingValues;
  readonly onBack: () => void;
  readonly onDone: () => void;
}

const recordsMax = 20;
const settleMs = 400;

/** Records beside the events that they become, anew with every change of the mapping. */
export function PreviewStep(props: PreviewStepProps) {
  const { projectId, configId, onBack } = props;
  const { draft, setDraft, takeFormat, settings, isRecognising, isStated, preview, save } = usePreviewState(props);
  const better = preview.data?.better_format ?? null;
  return (
    <div className="flex flex-col gap-4">
      <FormatSection
        {...props}
        settings={settings}
        isRecognising={isRecognising}
        isStated={isStated}
        records={preview.data?.results.map(({ record }) => record) ?? []}
        onFormat={takeFormat}
        onChange={(change) => setDraft({ ...draft, ...change })}
      />
      {better !== null && (
        <Button className="self-start" onClick={() => takeFormat(better)}>
          Take the format {better}
        </Button>
      )}
      <ChosenPart
        projectId={projectId}
        settings={settings}
        preview={preview.data}
        onChange={(change) => setDraft({ ...draft, ...change })}
      />
      <ErrorNote error={preview.error} />
      {preview.isPending && !isRecognising && <Loading label="Reading the first records" />}
      {preview.data !== undefined && <PreviewRecords key={configId} preview={preview.data} />}
      <ErrorNote error={save.error} />
      <WizardFooter
        onBack={onBack}
        onNext={() => save.mutate()}
        next="Continue to the check"
        busy={save.isPending}
        // What is chosen may leave out all of the first ones.
        disabled={preview.data === undefined || preview.data.events + preview.data.skipped === 0}
      />
    </div>
  );
}

/** What is stored, what was typed over it, and what the first records become with both. */
function usePreviewState({ projectId, configId, choices, stored, onDone }: PreviewStepProps) {
  const client = useQueryClient();
  const [draft, setDraft, forget] = useDraft(`import mapping ${projectId} ${configId}`, []);
  const stated: SettingValues = { ...mappingSettings(stored), ...draft };
  const isStated = stated['format'] !== undefined;
  const recognised = useRecognised({ projectId, configId, choices, isNeeded: !isStated });
  const settings: SettingValues = { ...startSettings(recognised.format), ...stated };
  const used = useSettled(settings);
  const preview = usePreview(projectId, configId, used, choices.length === 0 || used['format'] !== undefined);
  const save = useMutation({
    mutationFn: () => changeSettings(projectId, configId, settings),
    onSuccess: async () => {
      forget();
      await refresh(client, configPath(projectId, configId));
      onDone();
    },
  });
  // What is chosen of the events stays: it is the same for every format.
  const takeFormat = (next: string): void =>
    setDraft({ ...draft, format_options: '', names: '', ...startSettings(next) });
  return { draft, setDraft, takeFormat, settings, isStated, isRecognising: recognised.isPending, preview, save };
}

/** The first records as events; what was shown stays until the next answer. */
function usePreview(projectId: number, configId: number, settings: SettingValues, enabled: boolean) {
  return useQuery({
    enabled,
    queryKey: ['import preview', projectId, configId, settings],
    queryFn: ({ signal }) => readPreview(projectId, { config_id: configId, settings, records: recordsMax }, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

function mappingSettings({ format, format_options, names, choose, transform }: SettingValues): SettingValues {
  const given = Object.entries({ format, format_options, names, choose, transform });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== ''));
}

/** A mapping begins with rules that let every record through, so that there is something to look at. */
function startSettings(format: string | undefined): SettingValues {
  if (format === undefined) return {};
  return format === 'mapping' ? { format, format_options: { mapping: JSON.stringify(openMapping) } } : { format };
}

/** Typing is over when nothing was typed for a moment. */
function useSettled(value: SettingValues): SettingValues {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return JSON.parse(settled) as SettingValues;
}
