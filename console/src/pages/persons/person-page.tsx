import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';

import { Badge } from '../../components/badge.tsx';
import { buttonStyle } from '../../components/button.tsx';
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
import { useProject } from '../../shell/project-context.tsx';
import { eventColumns } from '../../components/event-columns.tsx';
import { EventPanel } from '../../components/event-panel.tsx';
import { eventsFilter, personEvents, personQuery, type Person } from './persons-query.ts';

const route = getRouteApi('/projects/$projectId/persons/$distinctId');

/** One person: who it is, by which ids it goes, what it did. */
export function PersonPage() {
  const { id } = useProject();
  const { distinctId } = route.useParams();
  const asked = useQuery(personQuery(id, distinctId));
  const person = asked.data?.results[0];
  const name = person?.name ?? distinctId;
  return (
    <>
      <PageHeader title={name} heading={<UserText text={name} charsMax={120} short />} description="Person" />
      <div className="flex flex-col gap-4">
        {asked.data === undefined && asked.error !== null && (
          <ErrorState error={asked.error} onRetry={() => void asked.refetch()} busy={asked.isFetching} />
        )}
        {asked.data === undefined && asked.error === null && <Loading rows={6} label="Loading the person" />}
        {asked.data !== undefined && person === undefined && (
          <EmptyState title="Nobody is known by this id">
            Events of this distinct id may have been stored without a person, or it was never sent.
          </EmptyState>
        )}
        {person !== undefined && <PersonFacts person={person} />}
        {asked.data !== undefined && <PersonEvents person={person} distinctId={distinctId} />}
      </div>
    </>
  );
}

function PersonFacts({ person }: { readonly person: Person }) {
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Section title="Who it is">
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
            ['Uuid', <Copied key="uuid" text={person.uuid} />],
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
      <Section title="Properties" description="As its events have set them so far.">
        <JsonView label="Properties as JSON" value={person.properties} />
      </Section>
    </div>
  );
}

function Copied({ text }: { readonly text: string }) {
  return (
    <span className="flex flex-wrap items-center gap-1">
      <UserText text={text} charsMax={120} /> <CopyButton text={text} label="Copy the id" />
    </span>
  );
}

interface PersonEventsProps {
  /** Undefined: nobody is known by the id. */
  readonly person: Person | undefined;
  readonly distinctId: string;
}

/** What the person did. */
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
          `Of all ${person.distinct_ids.length} ids, newest first.`
        ) : (
          <>
            Of the id <UserText text={distinctId} charsMax={80} short />, newest first.
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
          Explore
        </Link>
      }
    >
      <DataTable
        label="Events of the person"
        columns={columns}
        {...table}
        rowId={(event) => event.id}
        onOpen={(event) => void navigate({ search: { uuid: event.id } })}
        {...(uuid === undefined ? {} : { openId: uuid })}
        empty={<EmptyState title={person === undefined ? 'No stored events of this id' : 'No stored events'} />}
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
