import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { exportFormatLabels, exportPlaceLabels, exportShapeLabels, exportTableLabels } from './export-labels.ts';
import type { ExportEstimate } from '../../../../src/wire/contract/exports.ts';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { EventSelectionFields } from '../../components/event-selection-fields.tsx';
import { Facts } from '../../components/facts.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { bodyOf, destinationFields, draftOf, type ExportDraft } from './export-draft.ts';
import { estimateExport, exportsPath, startExport } from './exports-query.ts';
import type { ExportsSearch } from './exports-search.ts';

interface FieldsProps {
  readonly draft: ExportDraft;
  readonly onChange: (change: Partial<ExportDraft>) => void;
}

/** Counts what would be exported, and starts an export. */
export function ExportForm({ search }: { readonly search: ExportsSearch }) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(search));
  const estimate = useMutation({ mutationFn: () => estimateExport(projectId, bodyOf(draft)) });
  const start = useMutation({
    mutationFn: () => startExport(projectId, bodyOf(draft)),
    onSuccess: () => {
      setDraft({ ...draft, fields: {} });
      return refresh(client, exportsPath(projectId));
    },
  });
  const error = start.error ?? estimate.error;
  const change = (more: Partial<ExportDraft>): void => {
    setDraft({ ...draft, ...more });
    estimate.reset();
    start.reset();
  };
  return (
    <Section
      title="New export"
      description="Contains what was received before it starts, in files with checksums and a manifest."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <TableChoice draft={draft} onChange={change} />
        {draft.tables.includes('events') && (
          <EventSelectionFields
            draft={draft.selection}
            onChange={(selection) => change({ selection })}
            done="exported"
            error={error}
          />
        )}
        <FileFields draft={draft} onChange={change} />
        <DestinationFields draft={draft} onChange={change} />
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" kind="primary" busy={start.isPending} disabled={draft.tables.length === 0}>
            Start export
          </Button>
          <Button busy={estimate.isPending} disabled={draft.tables.length === 0} onClick={() => estimate.mutate()}>
            Count first
          </Button>
        </div>
        {estimate.data !== undefined && <Estimate estimate={estimate.data} />}
        <ErrorNote error={error} />
      </form>
    </Section>
  );
}

function TableChoice({ draft: { tables }, onChange }: FieldsProps) {
  return (
    <fieldset className="flex flex-wrap gap-4">
      <legend className="sr-only">What to export</legend>
      {exportTableLabels.map(({ value, label }) => (
        <Checkbox
          key={value}
          label={label}
          checked={tables.includes(value)}
          onChange={(isChosen) =>
            onChange({ tables: isChosen ? [...tables, value] : tables.filter((each) => each !== value) })
          }
        />
      ))}
    </fieldset>
  );
}

function FileFields({ draft, onChange }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      <Select
        label="Format"
        value={draft.format}
        choices={exportFormatLabels}
        onChange={(format) => onChange({ format })}
      />
      <Select label="Shape" value={draft.shape} choices={exportShapeLabels} onChange={(shape) => onChange({ shape })} />
      <Select
        label="Destination"
        value={draft.destination}
        choices={exportPlaceLabels}
        onChange={(destination) => onChange({ destination, fields: {} })}
      />
    </div>
  );
}

function DestinationFields({ draft: { destination, fields }, onChange }: FieldsProps) {
  return (
    <div className="grid gap-3 empty:hidden sm:grid-cols-2">
      {destinationFields[destination].map(({ name, label, hint, isSecret }) => (
        <TextInput
          key={`${destination} ${name}`}
          label={label}
          hint={hint}
          autoComplete="off"
          type={isSecret === true ? 'password' : 'text'}
          value={fields[name] ?? ''}
          onChange={(value) => onChange({ fields: { ...fields, [name]: value } })}
        />
      ))}
    </div>
  );
}

function Estimate({ estimate }: { readonly estimate: ExportEstimate }) {
  const { events, persons, groups, from, to, unfinished_runs: runs } = estimate;
  const facts: (readonly [string, ReactNode])[] = [['Events', <NumberText key="events" value={events} />]];
  if (from !== null && to !== null) {
    facts.push([
      'Times',
      <span key="times">
        <TimeText time={from} /> to <TimeText time={to} />
      </span>,
    ]);
  }
  if (persons !== null) facts.push(['Persons', <NumberText key="persons" value={persons} />]);
  if (groups !== null) facts.push(['Groups', <NumberText key="groups" value={groups} />]);
  if (runs.length > 0) {
    const text = `events of unfinished import runs: ${runs.join(', ')}`;
    facts.push(['Not included', <UserText key="runs" text={text} charsMax={200} />]);
  }
  return <Facts facts={facts} />;
}
