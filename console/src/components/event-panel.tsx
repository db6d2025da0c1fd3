import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CopyButton } from './copy-button.tsx';
import { ErrorState } from './error-state.tsx';
import { Facts } from './facts.tsx';
import { JsonView } from './json-view.tsx';
import { Loading } from './loading.tsx';
import { SidePanel } from './side-panel.tsx';
import { TimeText } from './time-text.tsx';
import { UserText } from './user-text.tsx';
import { useProject } from '../shell/project-context.tsx';
import { eventQuery, type StoredEvent } from '../api/stored-events.ts';

interface EventPanelProps {
  readonly uuid: string | undefined;
  /** The event if the table has it; otherwise it is fetched. */
  readonly known: StoredEvent | undefined;
  readonly zone: string;
  readonly onClose: () => void;
}

/** Shows one stored event in full. */
export function EventPanel({ uuid, known, zone, onClose }: EventPanelProps) {
  const { id } = useProject();
  const fetched = useQuery({ ...eventQuery(id, uuid ?? ''), enabled: uuid !== undefined && known === undefined });
  if (uuid === undefined) return null;
  const event = known ?? fetched.data;
  return (
    <SidePanel
      open
      onClose={onClose}
      title={event === undefined ? 'Event' : <UserText text={event.event} charsMax={120} short />}
    >
      {event !== undefined && <EventFacts event={event} projectId={id} zone={zone} />}
      {event === undefined && fetched.error !== null && (
        <ErrorState error={fetched.error} onRetry={() => void fetched.refetch()} busy={fetched.isFetching} />
      )}
      {event === undefined && fetched.error === null && <Loading rows={6} label="Loading event" />}
    </SidePanel>
  );
}

interface EventFactsProps {
  readonly event: StoredEvent;
  readonly projectId: number;
  readonly zone: string;
}

function EventFacts({ event, projectId, zone }: EventFactsProps) {
  return (
    <>
      <Facts
        facts={[
          ['Time', <TimeText key="time" time={event.timestamp} form="exact" zone={zone} />],
          [
            'UUID',
            <span key="uuid" className="flex flex-wrap items-center gap-1">
              <UserText text={event.id} /> <CopyButton text={event.id} label="Copy UUID" />
            </span>,
          ],
          [
            'Person',
            <Link
              key="person"
              to="/projects/$projectId/persons/$distinctId"
              params={{ projectId: String(projectId), distinctId: event.distinct_id }}
              className="underline"
            >
              <UserText text={event.distinct_id} charsMax={120} short />
            </Link>,
          ],
          ['Kind', event.historical_migration ? 'Historical' : 'Live'],
        ]}
      />
      <h3 className="text-sm font-semibold">Properties</h3>
      <JsonView label="Properties" value={event.properties} />
      {event.person !== null && (
        <>
          <h3 className="text-sm font-semibold">Person (current)</h3>
          <JsonView label="Person" value={event.person} openDepth={1} />
        </>
      )}
    </>
  );
}
