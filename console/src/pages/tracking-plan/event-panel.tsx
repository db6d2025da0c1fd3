import { useState } from 'react';
import { planPolicies, unplannedPolicies } from '../../../../src/wire/contract/plan-policies.ts';
import { Button } from '../../components/button.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { Select } from '../../components/select.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import {
  nameFault,
  rowsFault,
  rowsOf,
  schemaOf,
  withEvent,
  withoutEvent,
  type EventDraft,
  type PlanDraft,
  type PropertyRow,
} from './plan-form.ts';
import { policyChoice } from './policy-choice.ts';
import { PropertiesTable } from './properties-table.tsx';

interface EventPanelProps {
  readonly draft: PlanDraft;
  /** `undefined` for a new event. */
  readonly name: string | undefined;
  readonly canEdit: boolean;
  readonly onChange: (draft: PlanDraft) => void;
  readonly onClose: () => void;
}

const asPlan = { value: 'plan', label: 'As the plan' } as const;

type View = 'table' | 'json';

/** Holds what is typed, as a form and as JSON, of which one is shown. */
function useEventForm(draft: PlanDraft, name: string | undefined) {
  const stored = draft.events.find((each) => each.name === name) ?? { name: '', schema: {} };
  const [event, setEvent] = useState<EventDraft>(stored);
  const [rows, setRows] = useState<readonly PropertyRow[]>(() => rowsOf(stored.schema));
  const [view, setView] = useState<View>('table');
  const [json, setJson] = useState('');
  const parsed: ParsedSchema =
    view === 'json' ? schemaIn(json) : { schema: schemaOf(event.schema, rows), fault: rowsFault(rows) };
  const change = (more: Partial<EventDraft>): void => setEvent((before) => ({ ...before, ...more }));
  const show = (next: View): void => {
    // What cannot be read stays where it can be corrected.
    if (next === view || parsed.schema === undefined) return;
    if (next === 'json') setJson(JSON.stringify(parsed.schema, undefined, 2));
    else {
      change({ schema: parsed.schema });
      setRows(rowsOf(parsed.schema));
    }
    setView(next);
  };
  const faults = { name: nameFault(draft, event.name, name), properties: parsed.fault };
  const result = { ...event, schema: parsed.schema ?? event.schema };
  return { event, change, rows, setRows, view, show, json, setJson, faults, result };
}

/** Edits one event; the change belongs to the draft, which the page saves. */
export function EventPanel({ draft, name, canEdit, onChange, onClose }: EventPanelProps) {
  const { event, change, rows, setRows, view, show, json, setJson, faults, result } = useEventForm(draft, name);
  const close = (next: PlanDraft): void => {
    onChange(next);
    onClose();
  };
  return (
    <SidePanel
      open
      onClose={onClose}
      title={name === undefined ? 'New event' : <UserText text={name} charsMax={100} />}
    >
      <EventFields event={event} fault={faults.name} disabled={!canEdit} onChange={change} />
      <Tabs
        tabs={[
          { value: 'table', label: 'Properties' },
          { value: 'json', label: 'JSON Schema' },
        ]}
        value={view}
        onChange={show}
      >
        {view === 'table' ? (
          <PropertiesTable rows={rows} disabled={!canEdit} onChange={setRows} />
        ) : (
          <CodeEditor
            label="JSON Schema"
            language="json"
            value={json}
            onChange={setJson}
            readOnly={!canEdit}
            height="24rem"
          />
        )}
      </Tabs>
      {faults.properties !== undefined && (
        <p role="alert" className="text-sm text-danger">
          {faults.properties}
        </p>
      )}
      {canEdit && (
        <div className="flex flex-wrap justify-end gap-2">
          {name !== undefined && <Button onClick={() => close(withoutEvent(draft, name))}>Remove event</Button>}
          <Button
            kind="primary"
            disabled={faults.name !== undefined || faults.properties !== undefined}
            onClick={() => close(withEvent(draft, name, result))}
          >
            Apply to the draft
          </Button>
        </div>
      )}
    </SidePanel>
  );
}

interface EventFieldsProps {
  readonly event: EventDraft;
  readonly fault: string | undefined;
  readonly disabled: boolean;
  readonly onChange: (more: Partial<EventDraft>) => void;
}

function EventFields({ event, fault, disabled, onChange }: EventFieldsProps) {
  const { policy, unplanned_properties: unplanned } = event;
  return (
    <div className="flex flex-col gap-3">
      <TextInput
        label="Event name"
        value={event.name}
        maxLength={200}
        disabled={disabled}
        hint="Compared exactly, with upper and lower case."
        error={event.name === '' ? undefined : fault}
        onChange={(name) => onChange({ name })}
      />
      <TextInput
        label="Description"
        value={event.description ?? ''}
        maxLength={2000}
        disabled={disabled}
        onChange={(description) => onChange(description === '' ? { description: undefined } : { description })}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Invalid properties"
          value={policy ?? 'plan'}
          choices={[asPlan, ...planPolicies.map(policyChoice)]}
          disabled={disabled}
          onChange={(next) => onChange({ policy: next === 'plan' ? undefined : next })}
        />
        <Select
          label="Properties not in the plan"
          value={unplanned ?? 'plan'}
          choices={[asPlan, ...unplannedPolicies.map(policyChoice)]}
          disabled={disabled}
          onChange={(next) => onChange({ unplanned_properties: next === 'plan' ? undefined : next })}
        />
      </div>
    </div>
  );
}

interface ParsedSchema {
  readonly schema?: EventDraft['schema'];
  readonly fault?: string | undefined;
}

/** Reads the schema in the editor. The service validates its keywords when the plan is saved. */
function schemaIn(json: string): ParsedSchema {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { schema: value };
    return { fault: 'Expected a JSON object such as {"properties": {}}.' };
  } catch (error) {
    return { fault: error instanceof Error ? `Expected JSON: ${error.message}` : 'Expected JSON.' };
  }
}
