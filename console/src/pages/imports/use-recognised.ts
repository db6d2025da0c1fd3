import { useQuery } from '@tanstack/react-query';
import { readPreview } from './wizard-query.ts';

interface RecognisedOptions {
  readonly projectId: number;
  readonly configId: number;
  /** Formats that the source allows. */
  readonly choices: readonly string[];
  /** Nobody has chosen one yet. */
  readonly isNeeded: boolean;
}

const recordsLooked = 5;

/**
 * The format that the first records have; where none of the ready-made ones reads them, the one for rules of one's own. Undefined:
 * it is not known yet, not needed, or the source has a format of its own.
 */
export function useRecognised({ projectId, configId, choices, isNeeded }: RecognisedOptions) {
  const [first] = choices;
  const isOpen = isNeeded && choices.length > 1;
  const look = useQuery({
    queryKey: ['import format', projectId, configId],
    queryFn: ({ signal }) =>
      readPreview(projectId, { config_id: configId, settings: { format: first }, records: recordsLooked }, signal),
    enabled: isOpen,
    retry: false,
  });
  if (!isNeeded || !isOpen) return { format: isNeeded ? first : undefined, isPending: false };
  // Whatever is wrong with the source, the preview itself says it.
  if (look.data === undefined) return { format: look.isPending ? undefined : first, isPending: look.isPending };
  const { events, skipped, better_format: better } = look.data;
  const fallback = choices.includes('mapping') ? 'mapping' : first;
  const format = better ?? (events + skipped > 0 ? first : fallback);
  return { format, isPending: false };
}
