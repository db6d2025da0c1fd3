import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { planPolicies, planPolicyMeanings, unplannedPolicies } from '../../../../src/wire/contract/plan-policies.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { UserText } from '../../components/user-text.tsx';
import { EventPanel } from './event-panel.tsx';
import type { EventDraft, PlanDraft } from './plan-form.ts';
import { policyChoice, policyLabels } from './policy-choice.ts';

const route = getRouteApi('/projects/$projectId/tracking-plan');

interface EventsTabProps {
  readonly draft: PlanDraft;
  /** Whether the project has a saved plan. */
  readonly isSaved: boolean;
  readonly canEdit: boolean;
  readonly onChange: (draft: PlanDraft) => void;
}

export function EventsTab({ draft, isSaved, canEdit, onChange }: EventsTabProps) {
  const { q, event } = route.useSearch();
  const navigate = route.useNavigate();
  const rows = useMemo(
    () => draft.events.filter(({ name }) => name.toLowerCase().includes((q ?? '').toLowerCase())),
    [draft.events, q],
  );
  const open = (name: string | undefined): void => void navigate({ search: (before) => ({ ...before, event: name }) });
  return (
    <div className="flex flex-col gap-4">
      <Policies draft={draft} canEdit={canEdit} onChange={onChange} />
      <div className="flex flex-wrap items-start justify-between gap-2">
        <FilterBar
          filters={[{ kind: 'text', name: 'q', label: 'Search events' }]}
          values={{ q }}
          onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        />
        {canEdit && <Button onClick={() => open('+')}>Add event</Button>}
      </div>
      <DataTable
        label="Planned events"
        columns={columns}
        rows={rows}
        rowId={(row) => row.name}
        onOpen={(row) => open(`=${row.name}`)}
        empty={<NoEvents filtered={draft.events.length > 0} isSaved={isSaved} />}
      />
      {event !== undefined && (
        <EventPanel
          key={event}
          draft={draft}
          name={event.startsWith('=') ? event.slice(1) : undefined}
          canEdit={canEdit}
          onChange={onChange}
          onClose={() => open(undefined)}
        />
      )}
    </div>
  );
}

function NoEvents({ filtered, isSaved }: { readonly filtered: boolean; readonly isSaved: boolean }) {
  if (filtered) return <EmptyState title="No matching events">Clear the search.</EmptyState>;
  return (
    <EmptyState title={isSaved ? 'The plan has no events' : 'No tracking plan'}>
      Learn a draft from stored events, or add the first event. Nothing is validated until it is saved.
    </EmptyState>
  );
}

function Policies({ draft, canEdit, onChange }: Pick<EventsTabProps, 'draft' | 'canEdit' | 'onChange'>) {
  return (
    <Section title="Policies" description="What happens to events that violate the plan. Single events may differ.">
      <div className="grid gap-4 sm:grid-cols-3">
        <Select
          label="Invalid properties"
          value={draft.policy}
          choices={planPolicies.map(policyChoice)}
          hint={planPolicyMeanings[draft.policy]}
          disabled={!canEdit}
          onChange={(policy) => onChange({ ...draft, policy })}
        />
        <Select
          label="Events not in the plan"
          value={draft.unplanned_events}
          choices={unplannedPolicies.map(policyChoice)}
          hint={planPolicyMeanings[draft.unplanned_events]}
          disabled={!canEdit}
          onChange={(policy) => onChange({ ...draft, unplanned_events: policy })}
        />
        <Select
          label="Properties not in the plan"
          value={draft.unplanned_properties}
          choices={unplannedPolicies.map(policyChoice)}
          hint={planPolicyMeanings[draft.unplanned_properties]}
          disabled={!canEdit}
          onChange={(policy) => onChange({ ...draft, unplanned_properties: policy })}
        />
      </div>
    </Section>
  );
}

const columns: readonly Column<EventDraft>[] = [
  {
    id: 'name',
    header: 'Event',
    sortBy: (row) => row.name,
    cell: (row) => (
      <>
        <route.Link
          to="."
          search={(before) => ({ ...before, event: `=${row.name}` })}
          className="font-medium hover:underline"
        >
          <UserText text={row.name} charsMax={80} short />
        </route.Link>
        {row.description !== undefined && (
          <p className="text-xs text-soft">
            <UserText text={row.description} charsMax={120} short />
          </p>
        )}
      </>
    ),
  },
  {
    id: 'properties',
    header: 'Properties',
    align: 'end',
    width: '8rem',
    sortBy: (row) => Object.keys(row.schema.properties ?? {}).length,
    cell: (row) => <NumberText value={Object.keys(row.schema.properties ?? {}).length} />,
  },
  {
    id: 'required',
    header: 'Required',
    align: 'end',
    width: '7rem',
    sortBy: (row) => row.schema.required?.length ?? 0,
    cell: (row) => <NumberText value={row.schema.required?.length ?? 0} />,
  },
  {
    id: 'policy',
    header: 'Policy',
    width: '9rem',
    sortBy: (row) => row.policy ?? '',
    cell: (row) =>
      row.policy === undefined ? (
        <span className="text-xs text-soft">as the plan</span>
      ) : (
        <Badge tone="info">{policyLabels[row.policy]}</Badge>
      ),
  },
];
