import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { LiveStream } from './use-live-stream.ts';

interface StreamBadgeProps {
  readonly stream: Pick<LiveStream, 'state' | 'reason' | 'breaks'>;
  readonly paused: boolean;
}

/** Whether events come in; while they do not, why. */
export function StreamBadge({ stream: { state, reason, breaks }, paused }: StreamBadgeProps) {
  return (
    <span role="status" className="flex items-center gap-2 text-xs text-soft">
      {state !== 'open' && reason !== undefined && <UserText text={reason.detail} />}
      {state === 'open' && <StatusBadge tone={paused ? 'neutral' : 'ok'}>{paused ? 'paused' : 'watching'}</StatusBadge>}
      {state !== 'open' && (
        <StatusBadge tone="warn">{state === 'waiting' || breaks > 0 ? 'reconnecting' : 'connecting'}</StatusBadge>
      )}
    </span>
  );
}
