/** The first records of a source and what a run would make of them, without a run. */
import type { PreviewOrder } from '../api/import-runs-deps.ts';
import { previewSource, type SourcePreview } from '../../imports/preflight/preview-source.ts';
import { streamLoadedLate } from '../../plugins/outbound/load-late.ts';
import { importDirs } from './import-dirs.ts';
import { openSourceOf, openTableSource } from './import-source.ts';
import { openImportTransform, type ImportTransformDeps } from './import-transform.ts';
import { outboundTrust } from './plugin-environment.ts';
import type { ServiceDeps } from './service-deps.ts';

const answerMsMax = 10_000;

/** What the process of a preview is given. */
export interface PreviewTask extends Omit<PreviewOrder, 'source'> {
  /** Of the source. */
  readonly slug: string;
  /** Removed when the process has ended. */
  readonly tempDir: string;
}

/** Looks with connections of its own, which end with it; stages and sends nothing. */
export function createPreview(
  deps: Pick<ServiceDeps, 'db' | 'clock' | 'settings' | 'staging'> & Pick<ImportTransformDeps, 'place'>,
): (order: PreviewOrder & Pick<PreviewTask, 'tempDir'>, signal: AbortSignal) => Promise<SourcePreview> {
  const { db, settings, clock, staging } = deps;
  const dirs = importDirs(settings);
  const trust = outboundTrust(settings);
  return async ({ projectId, source: plugin, settings: given, options, records, tempDir }, signal) => {
    await using opened = new AsyncDisposableStack();
    const stream = streamLoadedLate({ ...trust, connectTimeoutMs: answerMsMax, idleMs: answerMsMax });
    opened.defer(() => stream.close());
    const places = { db, clock, dirs, staging, allow: trust.allow, stream, settings };
    const source = openSourceOf(places, { projectId, plugin, settings: given }, tempDir);
    opened.defer(async () => source.release?.());
    return await previewSource(
      {
        source,
        openTable: async (path) => openTableSource(places, projectId, tempDir, path),
        openTransform: openImportTransform(deps, projectId),
        eventBytesMax: settings.captureEventBytesMax,
        now: () => clock.now(),
      },
      options,
      { records, signal },
    );
  };
}
