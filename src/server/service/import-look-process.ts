/** The process of one preview or one preflight: it reads the beginning of a source, answers once, and is killed. */
import { lookRefusal, type LookAnswer } from '../api/import-looks.ts';
import { previewBody } from '../api/import-preview-body.ts';
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { isImportSource } from '../../plugins/plugin.ts';
import { openImportStaging } from './import-dirs.ts';
import { createPreflight, type PreflightTask } from './import-preflight.ts';
import { createPreview, type PreviewTask } from './import-preview.ts';
import { openPluginEnvironmentLate } from './plugin-environment.ts';
import { connectionsPerThread, openEventStore, openMetadata } from './stores.ts';
import { openProcess } from './thread.ts';

/** Of an answer: records are cut before, but one record may become any number of events. */
const answerCharsMax = 32 * 1024 * 1024;

const { settings, shared, log, serve } = await openProcess();
const clock = systemClock;
const { db } = await openMetadata(settings, log, connectionsPerThread(settings));
const staging = await openImportStaging(settings);
const failpoint = createFailpoint(settings.failAt, settings.allowFailpoints);
const place = openPluginEnvironmentLate(settings, { log, clock }).open;
/** It is killed from outside. */
const { signal } = new AbortController();

serve({
  health: async () => ({ ok: true }),
  answers: {
    preview: ({ slug, ...order }: PreviewTask) =>
      answered(async () => {
        const source = builtInRegistry.get(slug);
        if (source === undefined || !isImportSource(source)) throw new Error(`expected an import source, got ${slug}`);
        const preview = createPreview({ db, clock, settings, staging, place });
        return previewBody(order.options.format, await preview({ ...order, source }, signal));
      }),
    preflight: (order: PreflightTask) =>
      answered(async () => {
        const store = await openEventStore(settings, shared.embedded);
        return await createPreflight({ db, clock, settings, store, staging, place })(order, signal);
      }),
  },
  stop: async () => undefined,
});

async function answered(work: () => Promise<object>): Promise<LookAnswer> {
  failpoint('import_look');
  try {
    // As text: it alone keeps the digits of every number on its way.
    const json = JSON.stringify(await work());
    if (json.length <= answerCharsMax) return { kind: 'found', json };
    const reason = `The answer is larger than ${answerCharsMax / 1024 ** 2} MB: ask for fewer records.`;
    return { kind: 'refused', reason };
  } catch (error) {
    const refusal = lookRefusal(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
}
