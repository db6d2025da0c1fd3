import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
import type { Tone } from '../../components/badge.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';

export const stageNames: Readonly<Record<LiveStage, string>> = {
  received: 'received',
  transformed: 'transformed',
  stored: 'stored',
  dropped: 'dropped',
  dead_letter: 'dead letter',
};

const tones: Readonly<Record<LiveStage, Tone>> = {
  received: 'neutral',
  transformed: 'info',
  stored: 'ok',
  dropped: 'warn',
  dead_letter: 'danger',
};

export function StageBadge({ stage }: { readonly stage: LiveStage }) {
  return <StatusBadge tone={tones[stage]}>{stageNames[stage]}</StatusBadge>;
}
