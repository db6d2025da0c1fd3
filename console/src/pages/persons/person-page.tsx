import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';

import { Badge } from '../../components/badge.tsx';
import { Button, buttonStyle } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { EraseDialog } from '../../components/erase-dialog.tsx';
import { eventColumns } from '../../components/event-columns.tsx';
import { EventPanel } from '../../components/event-panel.tsx';
import { displayName, eventsFilter, personEvents, personQuery, type Person } from './persons-query.ts';

const route = getRouteApi('/projects/$projectId/persons/$distinctId');

/** One person with its ids, properties and events. */
export function PersonPage() {
  const { id } = useProject();
  const { distinctId } = route.useParams();
  const query = useQuery(personQuery(id, distinctId));
  const person = query.data?.results[0];
  const name = person === undefined ? distinctId : displayName(person);
  return (
    <>
      <PageHeader
        title={name}
        heading={<UserText text={name} charsMax={120} short />}
        description="Person"
        actions={person !== undefined && <EraseButton person={person} distinctId={distinctId} />}
      />
      <div className="flex flex-col gap-4">
        {query.data === undefined && query.error !== null && (
          <ErrorState error={query.error} onRetry={() => void query.refetch()} busy={query.isFetching} />
        )}
        {query.data === undefined && query.error === null && <Loading rows={6} label="Loading person" />}
        {query.data !== undefined && person === undefined && (
          <EmptyState title="Person not found">
            No person has this distinct id. Its events may have been stored without a person, or none were sent.
          </EmptyState>
        )}
        {person !== undefined && <PersonFacts person={person} />}
        {query.data !== undefined && <PersonEvents person={person} distinctId={distinctId} />}
      </div>
    </>
  );
}

/** Erases the person with everything stored of it, after a count. */
function EraseButton({ person, distinctId }: { readonly person: Person; readonly distinctId: string }) {
  const { id } = useProject();
  const isAdmin = useHasRole('admin');
  const navigate = useNavigate();
  const [isAsking, setIsAsking] = useState(false);
  if (!isAdmin) return null;
  return (
    <>
      <Button kind="danger" onClick={() => setIsAsking(true)}>
        Erase
      </Button>
      {isAsking && (
        <EraseDialog
          body={{ person_ids: [person.uuid] }}
          confirm={distinctId}
          confirmLabel="this id of the person"
          onClose={() => setIsAsking(false)}
          onStarted={() => void navigate({ to: '/projects/$projectId/erasures', params: { projectId: String(id) } })}
        />
      )}
    </>
  );
}

function PersonFacts({ person }: { readonly person: Person }) {
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Identity">
        <Facts
          facts={[
            [
              'Kind',
              person.is_identified ? (
                <Badge key="k" tone="ok">
                  identified
                </Badge>
              ) : (
                <Badge key="k">anonymous</Badge>
              ),
            ],
            ['First seen', <TimeText key="first" time={person.created_at} />],
            ['UUID', <Copied key="uuid" text={person.uuid} />],
            [
              person.distinct_ids.length === 1 ? 'Distinct id' : `${person.distinct_ids.length} distinct ids, merged`,
              <ul key="ids" className="max-h-64 overflow-auto">
                {person.distinct_ids.map((each) => (
                  <li key={each}>
                    <Copied text={each} />
                  </li>
                ))}
              </ul>,
            ],
          ]}
        />
      </Section>
      <Section title="Properties" description="Current values, as set by events.">
        <JsonView label="Properties as JSON" value={person.properties} />
      </Section>
    </div>
  );
}

function Copied({ text }: { readonly text: string }) {
  return (
    <span className="flex flex-wrap items-center gap-1">
      <UserText text={text} charsMax={120} /> <CopyButton text={text} label="Copy id" />
    </span>
  );
}

interface PersonEventsProps {
  /** `undefined` if no person has the id. */
  readonly person: Person | undefined;
  readonly distinctId: string;
}

/** The events of the person. */
function PersonEvents({ person, distinctId }: PersonEventsProps) {
  const { id, timezone } = useProject();
  const { uuid } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(personEvents(id, distinctId, person));
  const table = usePageRows(pages);
  const columns = useMemo(
    () =>
      eventColumns({
        projectId: id,
        properties: [],
        zone: timezone,
        open: (event) => void navigate({ search: { uuid: event.id } }),
      }),
    [id, timezone, navigate],
  );
  const params = { projectId: String(id) };
  return (
    <Section
      title="Events"
      description={
        person !== undefined && person.distinct_ids.length > 1 ? (
          `All ${person.distinct_ids.length} distinct ids, newest first.`
        ) : (
          <>
            Distinct id <UserText text={distinctId} charsMax={80} short />, newest first.
          </>
        )
      }
      flush
      actions={
        <Link
          to="/projects/$projectId/events"
          params={params}
          search={eventsFilter(distinctId, person)}
          className={buttonStyle('plain', 'small')}
        >
          Open in Events
        </Link>
      }
    >
      <DataTable
        label="Events of this person"
        columns={columns}
        {...table}
        rowId={(event) => event.id}
        onOpen={(event) => void navigate({ search: { uuid: event.id } })}
        {...(uuid === undefined ? {} : { openId: uuid })}
        empty={<EmptyState title={person === undefined ? 'No events of this id' : 'No events'} />}
      />
      <EventPanel
        uuid={uuid}
        known={table.rows?.find((event) => event.id === uuid)}
        zone={timezone}
        onClose={() => void navigate({ search: {} })}
      />
    </Section>
  );
}
