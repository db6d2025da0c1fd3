import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import type { SettingValues } from '../../components/schema-values.ts';
import { Select } from '../../components/select.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import { ChoiceEditor } from './choice-editor.tsx';
import { choiceWords, readChoice } from './choice-fields.ts';
import { FormatSection } from './format-section.tsx';
import { changeSettings, configPath, type Preview, readPreview, transformationsQuery } from './imports-query.ts';
import { openMapping } from './mapping-rules.ts';
import { useDraft } from './use-draft.ts';
import { WizardFooter } from './wizard-footer.tsx';

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

interface ChosenPartProps {
  readonly projectId: number;
  readonly settings: SettingValues;
  readonly preview: Preview | undefined;
  readonly onChange: (change: SettingValues) => void;
}

/** Less than everything, and made into something else; closed it says in a few words what is chosen. */
function ChosenPart({ projectId, settings, preview, onChange }: ChosenPartProps) {
  const known = useMemo(() => knownNames(preview), [preview]);
  const transform = String(settings['transform'] ?? '');
  const words = [
    ...choiceWords(readChoice(settings['choose']) ?? {}),
    ...(transform === '' ? [] : [`through transformation ${transform}`]),
  ];
  return (
    <details className="rounded-lg border border-line bg-surface">
      <summary className="cursor-pointer px-4 py-2.5 text-sm font-semibold">
        What is taken, and what is changed on the way{' '}
        <span className="font-normal text-soft">{words.length === 0 ? 'all, as it is' : words.join(' · ')}</span>
      </summary>
      <div className="flex flex-col gap-4 border-t border-line p-4">
        <ChoiceEditor setting={settings['choose']} known={known} onChange={(choose) => onChange({ choose })} />
        <TransformSelect projectId={projectId} value={transform} onChange={(next) => onChange({ transform: next })} />
      </div>
    </details>
  );
}

const namesMax = 500;

function knownNames(preview: Preview | undefined) {
  const events = new Set<string>();
  const properties = new Set<string>();
  for (const { event } of preview?.results.flatMap((record) => record.events) ?? []) {
    if (event === null) continue;
    events.add(event.event);
    for (const name of Object.keys(event.properties)) if (properties.size < namesMax) properties.add(name);
  }
  return { events: [...events], properties: [...properties] };
}

interface TransformSelectProps {
  readonly projectId: number;
  /** The setting `transform`: the id of a config, empty for none. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A transformation through which each event goes before the check; its code says what rules cannot. */
function TransformSelect({ projectId, value, onChange }: TransformSelectProps) {
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

const tones = { events: 'ok', skipped: 'neutral', rejected: 'danger' } as const;

/** Records of the source, each beside the events that it becomes. */
function PreviewRecords({ preview }: { readonly preview: Preview }) {
  if (preview.results.length === 0)
    return <EmptyState title="The source has no records">Look at the connection: nothing was found there.</EmptyState>;
  const files = [...new Set(preview.results.map(({ part }) => part))];
  return (
    <div className="flex flex-col gap-3">
      <Notice tone={preview.rejected > 0 ? 'warn' : preview.events > 0 ? 'ok' : 'info'}>
        <Shown preview={preview} files={files} />: <NumberText value={preview.events} /> events,{' '}
        <NumberText value={preview.skipped} /> skipped, <NumberText value={preview.rejected} /> rejected.
        {preview.better_format !== null && ` The format ${preview.better_format} reads them.`}
      </Notice>
      <ol className="flex flex-col gap-3">
        {preview.results.map((record, index) => (
          <li key={index} className="rounded-lg border border-line bg-surface p-3">
            <p className="flex flex-wrap items-center gap-2 pb-2 text-sm">
              Record {index + 1} <StatusBadge tone={tones[record.outcome]}>{record.outcome}</StatusBadge>
              {files.length > 1 && (
                <span className="text-soft">
                  <UserText text={record.part} charsMax={100} short />
                </span>
              )}
              {record.reason !== null && <UserText text={record.reason} />}
              {record.left_out.some((why) => why !== record.reason) && (
                <span className="text-soft">left out: {record.left_out.join(', ')}</span>
              )}
            </p>
            <div className="grid gap-3 lg:grid-cols-2">
              <JsonView label={`Record ${index + 1}`} value={record.record ?? record.original} openDepth={1} />
              <div className="flex min-w-0 flex-col gap-2">
                {record.events.map(({ event, refused }, at) => (
                  <div key={at} className="flex flex-col gap-1">
                    {refused !== null && (
                      <p className="text-sm text-danger">
                        <UserText text={refused.reason} />
                      </p>
                    )}
                    {event === null ? (
                      <p className="text-sm text-soft">The transform drops it.</p>
                    ) : (
                      <JsonView label={`Event ${at + 1} of record ${index + 1}`} value={event} openDepth={1} />
                    )}
                  </div>
                ))}
              </div>
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}

interface ShownProps {
  readonly preview: Preview;
  /** That the records come from. */
  readonly files: readonly string[];
}

/** Which of the source is looked at: a mapping that fits one file may not fit another. */
function Shown({ preview: { results, part, parts }, files }: ShownProps) {
  if (files.length > 1) {
    return (
      <>
        The first records of <NumberText value={files.length} /> of <NumberText value={parts} /> files, first to last
      </>
    );
  }
  return (
    <>
      The first <NumberText value={results.length} /> records of <UserText text={part} charsMax={100} short />
      {parts > 1 && (
        <>
          , one of <NumberText value={parts} />
        </>
      )}
    </>
  );
}

interface RecognisedOptions {
  readonly projectId: number;
  readonly configId: number;
  /** Formats that the source allows. */
  readonly choices: readonly string[];
  /** Nobody has chosen one yet. */
  readonly isNeeded: boolean;
}

const recordsLooked = 5;

/**
 * The format that the first records have; where none of the ready-made ones reads them, the one for rules of one's own. Undefined:
 * it is not known yet, not needed, or the source has a format of its own.
 */
function useRecognised({ projectId, configId, choices, isNeeded }: RecognisedOptions) {
  const [first] = choices;
  const isOpen = isNeeded && choices.length > 1;
  const look = useQuery({
    queryKey: ['import format', projectId, configId],
    queryFn: ({ signal }) =>
      readPreview(projectId, { config_id: configId, settings: { format: first }, records: recordsLooked }, signal),
    enabled: isOpen,
    retry: false,
  });
  if (!isNeeded || !isOpen) return { format: isNeeded ? first : undefined, isPending: false };
  // Whatever is wrong with the source, the preview itself says it.
  if (look.data === undefined) return { format: look.isPending ? undefined : first, isPending: look.isPending };
  const { events, skipped, better_format: better } = look.data;
  const fallback = choices.includes('mapping') ? 'mapping' : first;
  const format = better ?? (events + skipped > 0 ? first : fallback);
  return { format, isPending: false };
}
