import type { LaneStatus } from '../../../../src/wire/contract/status.ts';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';

interface LanesSectionProps {
  readonly lanes: { readonly live: LaneStatus; readonly historical: LaneStatus };
}

const rows = [
  ['Received', (lane: LaneStatus) => <NumberText value={lane.received_per_second} unit="per_second" />],
  ['Stored', (lane: LaneStatus) => <NumberText value={lane.stored_per_second} unit="per_second" />],
  ['Waiting events', (lane: LaneStatus) => <NumberText value={lane.waiting_events} />],
  ['Waiting bytes', (lane: LaneStatus) => <NumberText value={lane.waiting_bytes} unit="bytes" />],
  ['Oldest waits for', (lane: LaneStatus) => <NumberText value={lane.oldest_seconds * 1000} unit="ms" />],
  ['From arrival to stored', (lane: LaneStatus) => <NumberText value={lane.lag_seconds * 1000} unit="ms" />],
] as const;

/** The two ways through the service, side by side. */
export function LanesSection({ lanes }: LanesSectionProps) {
  return (
    <Section title="Lanes" description="Events of all projects; rates are means of the last minute." flush>
      <table className="w-full text-sm">
        <thead>
          <tr className="border-b border-line text-left text-xs text-soft">
            <td className="px-4 py-2" />
            {(['live', 'historical'] as const).map((name) => (
              <th key={name} scope="col" className="px-4 py-2 text-right font-medium">
                {name === 'live' ? 'Live' : 'Historical'}{' '}
                {lanes[name].is_full && <StatusBadge tone="danger">full</StatusBadge>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map(([label, value]) => (
            <tr key={label}>
              <th scope="row" className="px-4 py-2 text-left font-normal text-soft">
                {label}
              </th>
              <td className="px-4 py-2 text-right tabular-nums">{value(lanes.live)}</td>
              <td className="px-4 py-2 text-right tabular-nums">{value(lanes.historical)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
