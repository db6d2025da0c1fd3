import { counted } from '../../components/format-number.ts';
import { useMemo, useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { isJsonObject, scalarText } from '../../components/json-value.ts';
import { JsonView } from '../../components/json-view.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { BareSelect } from '../../components/select.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { Preview } from './imports-query.ts';
import { examplesOf, firstEventName } from './preview-examples.ts';
import { type MappedField, mapFields } from './record-mapping.ts';

type PreviewRecord = Preview['results'][number];

const tones = { events: 'ok', skipped: 'neutral', rejected: 'danger' } as const;

interface PreviewRecordsProps {
  readonly preview: Preview;
  /** Whether there are no mapping rules yet, so that the records have no events. */
  readonly isUnmapped: boolean;
}

/** The preview: an example of the mapping for each event name, records without events, and all others on demand. */
export function PreviewRecords({ preview, isUnmapped }: PreviewRecordsProps) {
  if (preview.results.length === 0)
    return <EmptyState title="No records">The source is empty. Check the connection settings.</EmptyState>;
  if (isUnmapped) return <UnmappedRecords preview={preview} />;
  const files = [...new Set(preview.results.map(({ part }) => part))];
  const rows = preview.results.map((record, index) => ({ record, index }));
  const converted = rows.filter(({ record }) => record.outcome === 'events' && record.left_out.length === 0);
  const others = rows.filter((row) => !converted.includes(row));
  return (
    <div className="flex flex-col gap-3">
      <Notice tone={preview.rejected > 0 ? 'warn' : preview.events > 0 ? 'ok' : 'info'}>
        <PreviewScope preview={preview} files={files} />: {counted(preview.events, 'event')},{' '}
        <NumberText value={preview.skipped} /> skipped, <NumberText value={preview.rejected} /> rejected.
        {preview.better_format !== null && ` Format ${preview.better_format} can read them.`}
      </Notice>
      <Examples records={preview.results} />
      <RecordList rows={others} showsPart={files.length > 1} />
      {converted.length > 0 && (
        <details>
          <summary className="cursor-pointer text-sm font-semibold">
            {counted(converted.length, 'record')} with events, as JSON
          </summary>
          <div className="pt-3">
            <RecordList rows={converted} showsPart={files.length > 1} />
          </div>
        </details>
      )}
    </div>
  );
}

const unmappedShown = 3;

/** Records whose columns the rules can use. */
function UnmappedRecords({ preview: { results } }: { readonly preview: Preview }) {
  return (
    <Section title="First records" description="They become events when the mapping rules are set.">
      <div className="flex flex-col gap-3">
        {results.slice(0, unmappedShown).map(({ record, original }, index) => (
          <JsonView key={index} label={`Record ${index + 1}`} value={record ?? original} openDepth={1} />
        ))}
      </div>
    </Section>
  );
}

/** Shows how the fields of a record map to an event, for a selected event name. */
function Examples({ records }: { readonly records: readonly PreviewRecord[] }) {
  const examples = useMemo(() => examplesOf(records), [records]);
  const [selected, setSelected] = useState<string>();
  const names = [...examples.keys()];
  const name = selected !== undefined && examples.has(selected) ? selected : firstEventName(records);
  const example = name === undefined ? undefined : examples.get(name);
  const fields = useMemo(
    () => example && isJsonObject(example.record) && mapFields(example.record, example.event),
    [example],
  );
  if (name === undefined || fields === undefined || fields === false) return null;
  return (
    <Section
      title="Mapping"
      description="The first record of an event, and the event it is converted to. Fields are paired by value."
      actions={
        <span className="w-56">
          <BareSelect
            aria-label="Event name"
            value={name}
            choices={names.map((value) => ({ value, label: value }))}
            onChange={setSelected}
          />
        </span>
      }
      flush
    >
      <DataTable
        label="Mapped fields"
        columns={columns}
        rows={fields}
        rowId={({ from, to }) => `${from ?? ''} > ${to ?? ''}`}
        maxHeight="28rem"
        empty={<EmptyState title="No fields" />}
      />
    </Section>
  );
}

const columns: readonly Column<MappedField>[] = [
  {
    id: 'from',
    header: 'Record',
    width: '14rem',
    cell: ({ from }) => <FieldName name={from} missing="not in the record" />,
  },
  { id: 'to', header: 'Event', width: '14rem', cell: ({ to }) => <FieldName name={to} missing="not in the event" /> },
  { id: 'change', header: 'Change', width: '7rem', cell: (field) => <Change field={field} /> },
  {
    id: 'value',
    header: 'Value',
    cell: ({ value }) => (
      <span className="block truncate font-mono text-xs">
        <UserText
          text={isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : scalarText(value)}
          short
        />
      </span>
    ),
  },
];

function FieldName({ name, missing }: { readonly name: string | null; readonly missing: string }) {
  if (name === null) return <span className="text-xs text-faint">{missing}</span>;
  return (
    <code className="text-xs">
      <UserText text={name} charsMax={100} short />
    </code>
  );
}

function Change({ field: { from, to } }: { readonly field: MappedField }) {
  if (from === null) return <Badge tone="info">added</Badge>;
  if (to === null) return <Badge tone="warn">not used</Badge>;
  return from === to || from.endsWith(`.${to}`) ? (
    <span className="text-xs text-faint">same name</span>
  ) : (
    <Badge tone="accent">renamed</Badge>
  );
}

interface RecordListProps {
  readonly rows: readonly { readonly record: PreviewRecord; readonly index: number }[];
  readonly showsPart: boolean;
}

/** Records of the source, each next to its events. */
function RecordList({ rows, showsPart }: RecordListProps) {
  return (
    <ol className="flex flex-col gap-3">
      {rows.map(({ record, index }) => (
        <li key={index} className="rounded-lg border border-line bg-surface p-3">
          <p className="flex flex-wrap items-center gap-2 pb-2 text-sm">
            Record {index + 1} <StatusBadge tone={tones[record.outcome]}>{record.outcome}</StatusBadge>
            {showsPart && (
              <span className="text-soft">
                <UserText text={record.part} charsMax={100} short />
              </span>
            )}
            {record.reason !== null && <UserText text={record.reason} />}
            {record.left_out.some((why) => why !== record.reason) && (
              <span className="text-soft">excluded: {record.left_out.join(', ')}</span>
            )}
          </p>
          <div className="grid gap-3 lg:grid-cols-2">
            <JsonView label={`Record ${index + 1}`} value={record.record ?? record.original} openDepth={1} />
            <div className="flex min-w-0 flex-col gap-2">
              {record.events.map(({ event, violations, refused }, at) => (
                <div key={at} className="flex flex-col gap-1">
                  {refused !== null && (
                    <p className="text-sm text-danger">
                      <UserText text={refused.reason} />
                    </p>
                  )}
                  {refused === null &&
                    violations.map((violation) => (
                      <p key={violation} className="text-sm text-warn">
                        Violates the tracking plan: <UserText text={violation} />
                      </p>
                    ))}
                  {event === null ? (
                    <p className="text-sm text-soft">
                      Dropped by the {violations.length > 0 ? 'tracking plan' : 'transformation'}.
                    </p>
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
  );
}

interface PreviewScopeProps {
  readonly preview: Preview;
  /** Files with previewed records. */
  readonly files: readonly string[];
}

/** Shows which part of the source the preview covers, since a mapping that fits one file may not fit another. */
function PreviewScope({ preview: { results, part, parts }, files }: PreviewScopeProps) {
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
