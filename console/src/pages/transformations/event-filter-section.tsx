import { Plus, X } from 'lucide-react';
import { eventFilterKey } from '../../../../src/wire/contract/event-filter.ts';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';
import { SchemaForm } from '../../components/schema-form.tsx';
import { isField, type SchemaEntry, type SettingErrors, type SettingValues } from '../../components/schema-values.ts';
import { Section } from '../../components/section.tsx';
import { BareSelect } from '../../components/select.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { UserText } from '../../components/user-text.tsx';
import {
  type EventFilter,
  type FilterCondition,
  filterIn,
  filterSetting,
  needsValue,
  operatorChoices,
} from './event-filter.ts';

interface EventFilterSectionProps {
  readonly schema: readonly SchemaEntry[];
  readonly values: SettingValues;
  readonly onChange: (values: SettingValues) => void;
  readonly errors: SettingErrors;
  readonly disabled: boolean;
}

/** Returns the entries of a schema without the filter, which has a separate section. */
export function withoutFilter(schema: readonly SchemaEntry[]): SchemaEntry[] {
  return schema.filter((entry) => !isField(entry) || entry.key !== eventFilterKey);
}

/** Chooses the events that a transformation gets. Filters that the form cannot show are edited as JSON. */
export function EventFilterSection({ schema, values, onChange, errors, disabled }: EventFilterSectionProps) {
  const field = schema.filter(isField).find(({ key }) => key === eventFilterKey);
  if (field === undefined) return null;
  const filter = filterIn(values);
  const error = errors[eventFilterKey];
  return (
    <Section title="Filter" description="Events that do not match pass this step unchanged.">
      {filter === undefined ? (
        <SchemaForm schema={[field]} values={values} onChange={onChange} errors={errors} disabled={disabled} />
      ) : (
        <FilterForm
          filter={filter}
          onChange={(next) => onChange({ ...values, [eventFilterKey]: filterSetting(next) })}
          error={error}
          disabled={disabled}
        />
      )}
    </Section>
  );
}

interface FilterFormProps {
  readonly filter: EventFilter;
  readonly onChange: (filter: EventFilter) => void;
  readonly error: string | undefined;
  readonly disabled: boolean;
}

const newCondition: FilterCondition = { property: '', operator: 'is', value: '' };

function FilterForm({ filter, onChange, error, disabled }: FilterFormProps) {
  const { events, properties, match } = filter;
  const setConditions = (next: readonly FilterCondition[]): void => onChange({ ...filter, properties: next });
  return (
    <div className="flex flex-col gap-4">
      <TextArea
        label="Event names"
        hint="One per line. * matches any characters. Empty: every event."
        rows={Math.min(8, Math.max(2, events.length))}
        value={events.join('\n')}
        disabled={disabled}
        onChange={(text) => onChange({ ...filter, events: text === '' ? [] : text.split('\n') })}
      />
      {properties.length > 1 && (
        <Field label="Events must match">
          {(control) => (
            <BareSelect
              {...control}
              value={match}
              choices={[
                { value: 'all', label: 'All conditions' },
                { value: 'any', label: 'Any condition' },
              ]}
              disabled={disabled}
              onChange={(next) => onChange({ ...filter, match: next })}
            />
          )}
        </Field>
      )}
      {properties.map((condition, index) => (
        <Condition
          key={index}
          number={index + 1}
          condition={condition}
          disabled={disabled}
          onChange={(next) => setConditions(properties.with(index, next))}
          onRemove={() => setConditions(properties.toSpliced(index, 1))}
        />
      ))}
      {!disabled && (
        <div>
          <Button
            size="small"
            icon={<Plus aria-hidden="true" className="size-4" />}
            onClick={() => setConditions([...properties, newCondition])}
          >
            Add condition
          </Button>
        </div>
      )}
      {error !== undefined && (
        <p role="alert" className="text-xs text-danger">
          <UserText text={error} charsMax={600} />
        </p>
      )}
    </div>
  );
}

interface ConditionProps {
  readonly number: number;
  readonly condition: FilterCondition;
  readonly disabled: boolean;
  readonly onChange: (condition: FilterCondition) => void;
  readonly onRemove: () => void;
}

function Condition({ number, condition, disabled, onChange, onRemove }: ConditionProps) {
  const { property, operator, value } = condition;
  return (
    <div role="group" aria-label={`Condition ${number}`} className="flex flex-wrap items-center gap-2 sm:flex-nowrap">
      <Input
        aria-label="Property"
        placeholder="Property, such as $host"
        value={property}
        disabled={disabled}
        onChange={(event) => onChange({ ...condition, property: event.target.value })}
      />
      <span className="w-44 shrink-0">
        <BareSelect
          aria-label="Operator"
          value={operator}
          choices={operatorChoices}
          disabled={disabled}
          onChange={(next) => onChange({ ...condition, operator: next })}
        />
      </span>
      {needsValue(operator) && (
        <Input
          aria-label="Value"
          placeholder="Value"
          value={value}
          disabled={disabled}
          onChange={(event) => onChange({ ...condition, value: event.target.value })}
        />
      )}
      {!disabled && (
        <IconButton
          label={`Remove condition ${number}`}
          icon={<X aria-hidden="true" className="size-4" />}
          onClick={onRemove}
        />
      )}
    </div>
  );
}
