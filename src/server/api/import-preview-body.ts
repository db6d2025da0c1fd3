import type { PreviewRecord, SourcePreview } from '../../imports/preflight/preview-source.ts';

/** Converts a preview to its API response. */
export function previewBody(
  format: string,
  { parts, bytesTotal, part, records, truncated, fittingFormats }: SourcePreview,
) {
  const taken = records.flatMap(({ events }) =>
    events.filter(({ event, refused }) => event !== null && refused === null),
  );
  const isRead = records.some(({ outcome }) => outcome !== 'rejected');
  return {
    format,
    parts,
    bytes_total: bytesTotal ?? null,
    part,
    events: taken.length,
    skipped: records.filter(({ outcome }) => outcome === 'skipped').length,
    rejected: records.filter(isRejected).length,
    truncated,
    better_format: isRead ? null : (fittingFormats.find((slug) => slug !== format) ?? null),
    fitting_formats: fittingFormats,
    results: records.map(({ part: of, original, record, outcome, reason, events, leftOut }) => ({
      part: of,
      original,
      record: record ?? null,
      outcome,
      reason,
      events,
      left_out: leftOut,
    })),
  };
}

function isRejected({ outcome, events }: PreviewRecord): boolean {
  return outcome === 'rejected' || events.some(({ refused }) => refused !== null);
}
