import { useQuery } from '@tanstack/react-query';
import { Chart } from '../../components/chart.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import type { Query } from '../../api/request.ts';
import { countsQuery, type Interval } from './events-query.ts';
import { volumeOf } from './volume.ts';

interface VolumeChartProps {
  readonly projectId: number;
  readonly filter: Query;
  readonly interval: Interval;
  readonly zone: string;
  /** Whether it counts already. */
  readonly counts: boolean;
}

/** How many events fit the filters over time, by event and by live or historical. */
export function VolumeChart({ projectId, filter, interval, zone, counts: isAsked }: VolumeChartProps) {
  const counts = useQuery({ ...countsQuery(projectId, filter, interval, zone), enabled: isAsked });
  const { times, series } = volumeOf(counts.data?.results ?? [], interval);
  const total = counts.data?.total;
  return (
    <Section
      title={`Events by ${interval}`}
      description={
        <>
          <NumberText value={total?.standard} /> live, <NumberText value={total?.historical} /> historical
        </>
      }
    >
      <ErrorNote error={counts.error} />
      <div className="min-h-56">
        {times.length > 0 && <Chart label={`Events by ${interval}`} times={times} series={series} height={140} />}
        {counts.data !== undefined && times.length === 0 && <p className="text-soft">Nothing to count.</p>}
      </div>
    </Section>
  );
}
