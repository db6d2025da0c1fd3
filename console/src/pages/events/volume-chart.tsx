import { Button } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import type { Query } from '../../api/request.ts';
import type { Interval } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import { useVolume } from './use-volume.ts';
import { volumeOf } from './volume.ts';

interface VolumeChartProps {
  readonly projectId: number;
  readonly filter: Query;
  readonly interval: Interval;
  readonly zone: string;
  /** Whether it counts already. */
  readonly counts: boolean;
  readonly now: number;
  readonly onShow: (change: Pick<EventsSearch, 'period' | 'after' | 'before'>) => void;
}

const dayMs = 86_400_000;

/** How many events fit the filters over time, by event and by live or historical. */
export function VolumeChart({ counts, now, onShow, ...asked }: VolumeChartProps) {
  const { total, outliers, range, interval, isPending, error } = useVolume({ ...asked, now, enabled: counts });
  const { times, series } = volumeOf(range?.results ?? [], interval);
  const tomorrow = new Date(now + dayMs).toISOString();
  return (
    <Section
      title={`Events by ${interval}`}
      description={
        <>
          <NumberText value={total?.standard} /> live, <NumberText value={total?.historical} /> historical
        </>
      }
    >
      <ErrorNote error={error} />
      <div className="min-h-56">
        {times.length > 0 && (
          <Chart label={`Events by ${interval}`} kind="steps" times={times} series={series} height={140} />
        )}
        {!isPending && times.length === 0 && <p className="text-soft">Nothing to count.</p>}
      </div>
      <Outliers
        count={outliers?.before2000}
        where="before the year 2000"
        onShow={() => onShow({ period: undefined, after: undefined, before: '2000-01-01' })}
      />
      <Outliers
        count={outliers?.inFuture}
        where="in the future"
        onShow={() => onShow({ period: undefined, after: tomorrow, before: undefined })}
      />
    </Section>
  );
}

interface OutliersProps {
  readonly count: number | undefined;
  readonly where: string;
  readonly onShow: () => void;
}

/** Events that the chart leaves out, so that the others can be seen. */
function Outliers({ count = 0, where, onShow }: OutliersProps) {
  if (count === 0) return null;
  return (
    <p className="flex items-center gap-2 pt-1 text-sm text-soft">
      Not in the chart: {count.toLocaleString('en')} {count === 1 ? 'event' : 'events'} {where}.
      <Button size="small" aria-label={`Show events ${where}`} onClick={onShow}>
        Show
      </Button>
    </p>
  );
}
