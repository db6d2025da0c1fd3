import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { Chart } from '../../components/chart.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { AttentionList } from './attention-list.tsx';
import { FirstSteps } from './first-steps.tsx';
import { FlowTiles } from './flow-tiles.tsx';
import { ImportsNow } from './imports-now.tsx';
import {
  anyEventQuery,
  chartStart,
  countsQuery,
  hourlySums,
  projectStatusQuery,
  transformationsQuery,
} from './home-query.ts';

const route = getRouteApi('/projects/$projectId/home');
const pollMs = 5_000;
const firstEventPollMs = 1_500;

/** What flows now, what needs attention, and for a new project what to do first. */
export function HomePage() {
  const { id, name } = useProject();
  const status = useQuery({ ...projectStatusQuery(id), refetchInterval: pollMs });
  return (
    <>
      <PageHeader
        title="Home"
        heading={<UserText text={name} charsMax={120} short />}
        description="What flows now, and what needs attention."
      />
      {status.data === undefined && status.error !== null && (
        <ErrorState error={status.error} onRetry={() => void status.refetch()} />
      )}
      <div className="flex flex-col gap-4">
        <FlowTiles status={status.data} />
        <ImportsNow />
        <NewProject />
        <AttentionList attention={status.data?.attention} />
        <VolumeChart />
      </div>
    </>
  );
}

/** The first steps, until an event has been seen; whoever watched the first one arrive sees them to the end of the visit. */
function NewProject() {
  const { id } = useProject();
  const { sender = 'curl' } = route.useSearch();
  const navigate = route.useNavigate();
  const [wasNew, setWasNew] = useState(false);
  const live = useFirst(id, false);
  const history = useFirst(id, true);
  const transformations = useQuery({ ...transformationsQuery(id), refetchInterval: pollMs, enabled: wasNew });
  const transformation = transformations.data?.results.some(({ enabled }) => enabled) === true;
  const isKnown = live !== undefined && history !== undefined;
  const isNew = isKnown && !live && !history;
  if (isNew && !wasNew) setWasNew(true);
  if (!isNew && !wasNew) return null;
  return (
    <FirstSteps
      sender={sender}
      onSender={(next) => void navigate({ search: { sender: next }, replace: true })}
      done={{ event: live === true, history: history === true, transformation }}
    />
  );
}

/** Whether there is an event of the kind; undefined: not known yet. Asks until there is one. */
function useFirst(projectId: number, historical: boolean): boolean | undefined {
  const { data } = useQuery({
    ...anyEventQuery(projectId, historical),
    refetchInterval: ({ state }) => ((state.data?.results.length ?? 0) > 0 ? false : firstEventPollMs),
  });
  return data && data.results.length > 0;
}

function VolumeChart() {
  const { id } = useProject();
  const now = Date.now();
  const { data } = useQuery({ ...countsQuery(id, now), refetchInterval: pollMs * 4 });
  const { times, live, historical } = hourlySums(data?.results ?? [], chartStart(now));
  return (
    <Section title="Events by hour" description="By the time of the event, the last two days.">
      {data === undefined ? (
        <Loading label="Counting events" />
      ) : (
        <Chart
          label="Events by hour"
          kind="bars"
          times={times}
          series={[
            { label: 'Live', tone: 'accent', values: live },
            { label: 'Historical', tone: 'info', values: historical },
          ]}
        />
      )}
    </Section>
  );
}
